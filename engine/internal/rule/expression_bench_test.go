package rule

import (
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// BenchmarkExpression evaluates expressions with closures and with cel-go, of a small object and of one of 10 kB.
func BenchmarkExpression(b *testing.B) {
	large := strings.Replace(full, `"spec":{`, `"spec":{"open":{"x":[`+strings.Repeat(`{"a":1,"b":"text"},`, 600)+`1]},`, 1)
	large = strings.Replace(large, `,"open":{"x":1,"y":[1,{"b":1,"a":2}]}`, "", 1)
	for _, c := range []struct{ name, target, text, self string }{
		{"concat", "string", `self.spec.host + ':' + string(self.spec.port)`, full},
		{"concat10kB", "string", `self.spec.host + ':' + string(self.spec.port)`, large},
		{"conditional", "string", `has(self.spec.alias) ? self.spec.alias : self.spec.host`, full},
		{"split", "string", `self.spec.host.split(':')[0]`, full},
		{"int", "int", `self.spec.port + 1`, full},
		{"map", "strings", `self.spec.ports.map(p, p.name)`, full},
		{"copy", "objects", `self.spec.ports`, full},
		{"object", "object", `{'name': dyn(self.spec.host), 'port': dyn(self.spec.port)}`, full},
		{"absent", "string", `self.spec.host + 'x'`, `{"spec":{"port":80}}`},
		{"absentItem", "strings", `self.spec.ports.map(p, p.name)`, `{"spec":{"ports":[{"port":80}]}}`},
	} {
		x, err := CompileExpression(b.Context(), sourceScope(b), c.text, target(b, c.target))
		if err != nil {
			b.Fatal(err)
		}
		for _, with := range []struct {
			name       string
			noClosures bool
		}{{"closures", false}, {"cel-go", true}} {
			b.Run(c.name+"/"+with.name, func(b *testing.B) {
				d := tree.Acquire()
				defer d.Release()
				self := parse(b, d, c.self, tree.Request)
				nodes, arena := len(d.Nodes), len(d.Src[tree.Arena])
				b.ReportAllocs()
				for b.Loop() {
					r := Start(d)
					r.NoClosures = with.noClosures
					if _, err := x.Evaluate(r, self, true); err != nil {
						b.Fatal(err)
					}
					r.Close()
					d.Nodes, d.Src[tree.Arena] = d.Nodes[:nodes], d.Src[tree.Arena][:arena]
				}
			})
		}
	}
}
