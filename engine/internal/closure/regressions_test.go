package closure

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/crdeval/crdeval/engine/testenv"
)

// found are expressions on which the conformance run's generator found differences.
var found = []string{
	// indexes that cel-go has no qualifiers for, on maps in which they are not looked for
	`{}[?[optional.none()]].hasValue()`, `{}[?quantity('1').add(self.i)] == optional.none()`, `{}[?duration(self.t)].hasValue()`,
	`type(optional.of({})[lists.range(self.i).last()]) == int`, `self.ms[dyn(self.?s)] == 'b'`, `self.ls[dyn(self.?i)] == 'b'`,
	// values that the cost of an equality depends on
	`dyn(self) == true`, `true == dyn(self)`, `dyn(self.o) == 1`, `dyn(self.ls) == 'a'`, `'a' == dyn(self.ls)`, `dyn(self.set) == dyn(self.ms)`, `dyn(self.empty) == false`, `dyn(self.p) != 1`,
	`cidr('::/0') == cidr('192.168.1.0/24')`,
	// unions of sets and mergers of map lists that the compiler does not know as such
	`dyn(self.list) + self.list.map(e, e) == self.list`, `dyn(self.set) + self.set.map(e, e) == self.set.reverse()`, `dyn(self.set) + self.set == ['b', 'a']`, `dyn(self.list) + self.list != self.list`,
}

func TestRegressions(t *testing.T) {
	u := newUpstream(t, richSchema, false)
	var s spec.Schema
	if err := json.Unmarshal([]byte(richSchema), &s); err != nil {
		t.Fatal(err)
	}
	r := random{rand.New(rand.NewPCG(3, 4))}
	var objects []document
	for len(objects) < testenv.Volume(6) {
		text, err := json.Marshal(r.object(&s, 0))
		if err != nil {
			t.Fatal(err)
		}
		if text[0] == '{' {
			objects = append(objects, newDocument(t, text))
		}
	}
	for _, text := range found {
		c, err := u.compile(text, false)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var n tally
		for i, self := range objects {
			u.compare(t, c, &Frame{}, self, objects[r.IntN(len(objects))], i%2 == 0, &n)
		}
	}
}
