//go:build quirks

package program

import (
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/metadata"
	"github.com/crdeval/crdeval/engine/internal/quirk"
)

// Each switch must change the answer to its case: the conformance run relies on that.
func TestSwitches(t *testing.T) {
	defer quirk.Reset()
	for _, c := range []struct {
		n              int
		schema, object string
	}{
		{1, `v:{"type":"object","additionalProperties":{"type":"string"}}`, `v:{"a":1}`},
		{2, `v:{"anyOf":[{"minimum":2}]}`, `v:1`},
		{3, `v:{"type":"string"}`, `v:1`},
		{4, `v:{"minimum":2}`, `v:1`},
		{5, `v:{"type":"string","maxLength":2}`, `v:"abc"`},
		{6, `v:{"x-kubernetes-int-or-string":true}`, `v:true`},
		{7, `v:{"minimum":2,"allOf":[{"minimum":2}]}`, `v:1`},
		{9, `v:{"anyOf":[{"type":"string"},{"type":"integer","minimum":2}]}`, `v:1`},
		{10, `v:{"enum":[null]}`, `v:1`},
		{14, `v:{"type":"integer"}`, `v:1.0`},
		{16, `v:{"type":"integer"}`, `v:1.5`},
		{17, `v:{"type":"number","minimum":1.5}`, `v:1`},
		{18, `v:{"type":"number","multipleOf":0.5}`, `v:1`},
		{19, `v:{"type":"integer","minimum":0.5}`, `v:1`},
		{20, `v:{"type":"integer","format":"int32"}`, `v:2147483648`},
		{21, `v:{"type":"number","enum":[1]}`, `v:1.5`},
		{22, `v:{"nullable":true,"enum":[null]}`, `v:null`},
		{23, `v:{"type":"string","maxLength":2,"pattern":"x"}`, `v:"abc"`},
		{25, `v:{"type":"string","format":"ur-i"}`, `v:"abc"`},
		{26, `v:{"type":"string","format":"uri"}`, `v:"abc"`},
		{27, `v:{"type":"string","format":"uri"}`, `v:[]`},
		{28, `v:{"type":"string","format":"byte"}`, `v:""`},
		{29, `v:{"type":"string","format":"duration"}`, `v:"1 w"`},
		{30, `v:{"type":"string","format":"date-time"}`, `v:"2020-01-01T00:00:00+99:99"`},
		{31, `v:{"type":"string","format":"datetime"}`, `v:"x"`},
		{32, `v:{"type":"string","format":"ipv4"}`, `v:"010.0.0.1"`},
		{35, `v:{"type":"string","nullable":true,"default":"x"}`, `v:null`},
		{36, `v:{"type":"array","items":{"type":"string"}}`, `v:[null]`},
		{37, `{"type":"object","required":["v"],"properties":{"v":{"type":"string","nullable":true}}}`, `v:null`},
		{38, `v:{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer","default":1}}}}`, `v:[{}]`},
		{39, `v:{"type":"object","additionalProperties":{"type":"integer","default":1}}`, `v:{"a":null}`},
		{40, `v:{"type":"object","additionalProperties":true}`, `v:{"a":{"b":1}}`},
		{41, `v:{"type":"object"}`, `v:{"a":1}`},
		{42, `v:{"type":"object","x-kubernetes-preserve-unknown-fields":true,"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`, `v:{"a":{"c":1}}`},
		{43, `{"type":"object"}`, `{"b":1,"a":1}`},
		{45, `v:{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}`, `v:{}`},
		{48, `v:{"type":"array","x-kubernetes-list-type":"set","items":{"type":"number"}}`, `v:[1,1.0]`},
		{49, oneKey, `v:[{},{}]`},
	} {
		answer := func() []string {
			p := compileText(t, c.schema, Options{})
			d, root := parseText(t, c.object)
			out := changed(prune(t, p, d, root))
			p.DropNulls(d, root)
			if _, err, _ := p.CoerceEmbedded(d, root, metadata.Options{}); err != nil {
				t.Fatal(err)
			}
			fillDefaults(t, p, d, root)
			for _, v := range slices.Concat(p.Explain(d, root, At{}), p.ExplainEmbedded(d, root, At{}), p.ExplainLists(d, root, At{})) {
				out = append(out, string(v.Type)+" "+v.Error.Error())
			}
			return append(out, string(d.AppendJSON(nil, root)))
		}
		quirk.Reset()
		with := answer()
		quirk.Off(c.n)
		if without := answer(); slices.Equal(with, without) {
			t.Errorf("quirk %d makes no difference to %s: %q", c.n, c.object, with)
		}
	}
}
