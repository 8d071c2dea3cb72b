package plan

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

func acceptOnce(t testing.TB, p *Plan, object string, m Mode) (string, bool) {
	t.Helper()
	d := tree.Acquire()
	defer d.Release()
	root, err := d.ParseJSON([]byte(object), tree.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if !p.Accept(d, root, m) {
		return "", false
	}
	return string(d.AppendJSON(nil, root)), true
}

// TestAccept: the result, or "" for a doubt. TestAcceptExplain holds such cases against the other walks by
// the ten thousand; these are the ones to read.
func TestAccept(t *testing.T) {
	for _, c := range []struct{ name, schema, in, out string }{
		{"nothing to do", `{type: object, properties: {a: {type: string}}}`, `{ "a" : "x" }`, `{"a":"x"}`},
		{"pruned", `{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}`, `{"a":{"b":"x","c":1},"d":2}`, `{"a":{"b":"x"}}`},
		{"object without properties is emptied", `{type: object, properties: {a: {type: object}}}`, `{"a":{"b":{"c":1}}}`, `{"a":{}}`},
		{"below additionalProperties true", `{type: object, properties: {a: {type: object, additionalProperties: true}}}`, `{"a":{"b":{"c":1},"l":[{"c":1},2]}}`, `{"a":{"b":{},"l":[{},2]}}`},
		{"additionalProperties false", `{type: object, properties: {a: {type: object, additionalProperties: false}}}`, `{"a":{"b":1}}`, ``},
		{"preserved, but pruned below", `{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object, properties: {b: {type: string}}}}}`, `{"a":{"c":1},"d":{"e":null}}`, `{"a":{},"d":{"e":null}}`},
		{"preserving array", `{type: object, properties: {l: {type: array, x-kubernetes-preserve-unknown-fields: true, items: {type: object, properties: {a: {type: object}}}}}}`, `{"l":[{"a":{"b":1},"c":{"d":1}}]}`, `{"l":[{"a":{},"c":{"d":1}}]}`},
		{"null dropped", `{type: object, properties: {a: {type: string}, b: {type: string, nullable: true}}}`, `{"a":null,"b":null}`, `{"b":null}`},
		{"null replaced in place", `{type: object, properties: {a: {type: string, default: x}, b: {type: string}}}`, `{"a":null,"b":"y"}`, `{"a":"x","b":"y"}`},
		{"nullable null kept beside a default", `{type: object, properties: {a: {type: string, default: x, nullable: true}}}`, `{"a":null}`, `{"a":null}`},
		{"null value of a map", `{type: object, additionalProperties: {type: string, default: x}}`, `{"a":null}`, `{"a":"x"}`},
		{"null item defaulted", `{type: object, properties: {l: {type: array, items: {type: string, default: x}}}}`, `{"l":[null,"a"]}`, `{"l":["x","a"]}`},
		{"null item", `{type: object, properties: {l: {type: array, items: {type: string}}}}`, `{"l":[null]}`, ``},
		{"null item of no type", `{type: object, properties: {l: {type: array, items: {x-kubernetes-preserve-unknown-fields: true}}}}`, `{"l":[null]}`, `{"l":[null]}`},
		{"null and an enum", `{type: object, properties: {a: {type: string, nullable: true, enum: [x, null]}}}`, `{"a":null}`, ``},
		{"defaults come sorted and last", `{type: object, properties: {c: {type: integer, default: 1}, a: {type: integer, default: 2}, b: {type: string}}}`, `{"b":"x"}`, `{"b":"x","a":2,"c":1}`},
		{"a default makes the required", `{type: object, required: [a], properties: {a: {type: integer, default: 2}}}`, `{}`, `{"a":2}`},
		{"an invalid default", `{type: object, properties: {a: {type: object, additionalProperties: {type: object, properties: {b: {type: integer, default: 9, maximum: 5}}}}}}`, `{"a":{"x":{}}}`, ``},
		{"required", `{type: object, required: [a]}`, `{}`, ``},
		{"required of a map", `{type: object, additionalProperties: {type: string}, required: [a]}`, `{"a":"x"}`, `{"a":"x"}`},
		{"maxProperties counts the remaining members", `{type: object, maxProperties: 1, properties: {a: {type: string}}}`, `{"x":1,"y":2,"a":"b"}`, `{"a":"b"}`},
		{"minProperties counts the remaining members", `{type: object, minProperties: 1, properties: {a: {type: string}}}`, `{"x":1}`, ``},
		{"length in code points", `{type: object, properties: {a: {type: string, maxLength: 2}}}`, `{"a":"üü"}`, `{"a":"üü"}`},
		{"too long", `{type: object, properties: {a: {type: string, maxLength: 2}}}`, `{"a":"\u0061bc"}`, ``},
		{"unanchored pattern", `{type: object, properties: {a: {type: string, pattern: b}}}`, `{"a":"abc"}`, `{"a":"abc"}`},
		{"format", `{type: object, properties: {a: {type: string, format: ipv4}}}`, `{"a":"10.0.0"}`, ``},
		{"unknown format", `{type: object, properties: {a: {type: string, format: colour}}}`, `{"a":"10.0.0"}`, `{"a":"10.0.0"}`},
		{"array for a formatted string", `{type: object, properties: {a: {type: string, format: ipv4}}}`, `{"a":[]}`, ``},
		{"integer", `{type: object, properties: {a: {type: integer}}}`, `{"a":9223372036854775807}`, `{"a":9223372036854775807}`},
		{"1.0 as an integer is for explain", `{type: object, properties: {a: {type: integer}}}`, `{"a":1.0}`, ``},
		{"1.0 as a number", `{type: object, properties: {a: {type: number}}}`, `{"a":1.0}`, `{"a":1}`},
		{"int32", `{type: object, properties: {a: {type: integer, format: int32}}}`, `{"a":2147483648}`, ``},
		{"int32 means nothing to a number", `{type: object, properties: {a: {type: number, format: int32}}}`, `{"a":2147483648}`, `{"a":2147483648}`},
		{"a truncated bound", `{type: object, properties: {a: {type: number, minimum: 1.5}}}`, `{"a":1}`, `{"a":1}`},
		{"a bound that does not fit", `{type: object, properties: {a: {type: integer, minimum: 0.5}}}`, `{"a":1}`, ``},
		{"exclusive", `{type: object, properties: {a: {type: integer, minimum: 1, exclusiveMinimum: true}}}`, `{"a":1}`, ``},
		{"multipleOf", `{type: object, properties: {a: {type: integer, multipleOf: 3}}}`, `{"a":-6}`, `{"a":-6}`},
		{"enum of integers", `{type: object, properties: {a: {type: integer, enum: [1, 2]}}}`, `{"a":2}`, `{"a":2}`},
		{"enum of floats and an integer", `{type: object, properties: {a: {type: number, enum: [1.5, 2.0]}}}`, `{"a":2}`, `{"a":2}`},
		{"65 is A", `{type: object, properties: {a: {x-kubernetes-int-or-string: true, not: {enum: [A]}}}}`, `{"a":65}`, ``},
		{"booleans", `{type: object, properties: {a: {type: boolean, enum: [true]}}}`, `{"a":false}`, ``},
		{"int-or-string", `{type: object, properties: {a: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}}}`, `{"a":"x"}`, `{"a":"x"}`},
		{"int-or-string, a boolean", `{type: object, properties: {a: {x-kubernetes-int-or-string: true}}}`, `{"a":true}`, ``},
		{"oneOf over defaults", `{type: object, properties: {a: {type: string, default: x}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}`, `{"b":"y"}`, ``},
		{"oneOf over a pruned field", `{type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [c]}]}`, `{"a":"y","c":1}`, `{"a":"y"}`},
		{"not", `{type: object, properties: {a: {type: string, not: {enum: [x]}}}}`, `{"a":"x"}`, ``},
		{"allOf in items", `{type: object, properties: {l: {type: array, items: {type: object, properties: {a: {type: integer}}}}}, allOf: [{properties: {l: {items: {properties: {a: {maximum: 3}}}}}}]}`, `{"l":[{"a":3},{"a":4}]}`, ``},
		{"set", `{type: object, properties: {l: {type: array, x-kubernetes-list-type: set, items: {type: number}}}}`, `{"l":[1,1.0,2]}`, `{"l":[1,1,2]}`},
		{"set with a duplicate", `{type: object, properties: {l: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`, `{"l":["a","\u0061"]}`, ``},
		{"map list", `{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, properties: {a: {type: string}, b: {type: integer, default: 1}}}}}}`, `{"l":[{"a":"x"},{"a":"x","b":2}]}`, `{"l":[{"a":"x","b":1},{"a":"x","b":2}]}`},
		{"map list with a duplicate by default", `{type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a, b], items: {type: object, properties: {a: {type: string}, b: {type: integer, default: 1}}}}}}`, `{"l":[{"a":"x"},{"a":"x","b":1}]}`, ``},
		{"embedded resource", `{type: object, properties: {e: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}}}`, `{"e":{"apiVersion":"g/v1","kind":"K","metadata":{"name":"a","labels":{}},"spec":{"x":1},"y":2}}`, `{"e":{"apiVersion":"g/v1","kind":"K","metadata":{"name":"a"},"spec":{}}}`},
		{"embedded resource without a kind", `{type: object, properties: {e: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`, `{"e":{"apiVersion":"g/v1"}}`, ``},
		{"embedded metadata to coerce", `{type: object, properties: {e: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`, `{"e":{"apiVersion":"g/v1","kind":"K","metadata":{"unknown":1}}}`, ``},
		{"duplicate key", `{type: object, properties: {a: {type: integer}}}`, `{"a":"x","a":1}`, `{"a":1}`},
		{"root is no object", `{type: object}`, `[]`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compiled(t, c.schema, Options{})
			got, ok := acceptOnce(t, p, c.in, Mode{Create: true})
			if got != c.out || ok != (c.out != "") {
				t.Errorf("%s: got %q, want %q", c.in, got, c.out)
			}
		})
	}
}

func TestStatusOnCreate(t *testing.T) {
	const declared = `{type: object, properties: {spec: {type: object}, status: {type: object, default: {i: 9}, properties: {i: {type: integer, maximum: 3}, e: {type: object, x-kubernetes-embedded-resource: true}}}}}`
	for _, c := range []struct {
		name, schema, in, out, pruned string
		m                             Mode
		subresource                   bool
	}{
		{"dropped without validation", declared, `{"spec":{},"status":{"i":"x","u":1}}`, `{"spec":{}}`, "status.u", Mode{Create: true}, true},
		{"no default", declared, `{"spec":{}}`, `{"spec":{}}`, "", Mode{Create: true}, true},
		{"embedded metadata is still read", declared, `{"spec":{},"status":{"e":{"metadata":5}}}`, ``, "", Mode{Create: true}, true},
		{"undeclared but preserved", `{type: object, x-kubernetes-preserve-unknown-fields: true}`, `{"status":1,"a":2}`, `{"a":2}`, "", Mode{Create: true}, true},
		{"validated when not created", declared, `{"status":{"i":9}}`, ``, "", Mode{}, true},
		{"validated without the subresource", declared, `{"status":{"i":9}}`, ``, "", Mode{Create: true}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := compiled(t, c.schema, Options{StatusSubresource: c.subresource})
			c.m.Edits = &Edits{}
			d := tree.Acquire()
			defer d.Release()
			root, _ := d.ParseJSON([]byte(c.in), tree.Limits{})
			ok := p.Accept(d, root, c.m)
			if ok != (c.out != "") {
				t.Fatalf("accepted: %v", ok)
			}
			if !ok {
				return
			}
			if got := string(d.AppendJSON(nil, root)); got != c.out {
				t.Errorf("got %s, want %s", got, c.out)
			}
			pruned, defaulted := p.Changes(d, c.m.Edits)
			var texts []string
			for _, x := range pruned {
				texts = append(texts, x.Text)
			}
			if got := strings.Join(texts, ","); got != c.pruned || len(defaulted) > 0 {
				t.Errorf("pruned %q, filled in %v", got, defaulted)
			}
			if c.m.Edits.Any(Pruned) != (c.pruned != "") {
				t.Error("Any(Pruned)")
			}
		})
	}
}

// TestManyElements: uniqueness by table agrees with uniqueness pair by pair.
func TestManyElements(t *testing.T) {
	p := compiled(t, `
type: object
properties:
  s: {type: array, x-kubernetes-list-type: set, items: {x-kubernetes-preserve-unknown-fields: true}}
  m: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {type: string}, v: {type: integer}}}}
`, Options{})
	for _, n := range []int{2, hashFrom - 1, hashFrom, 100, 5000} {
		set, list := make([]string, n), make([]string, n)
		for i := range n {
			set[i] = fmt.Sprintf(`%d`, i)
			if i%2 == 1 {
				set[i] = fmt.Sprintf(`"%d"`, i-1)
			}
			list[i] = fmt.Sprintf(`{"k":"%d"}`, i)
		}
		if i := n / 3; i > 2 {
			set[0], set[1], set[i], list[i] = "null", "false", "0.5", "{}"
		}
		object := func() string {
			return fmt.Sprintf(`{"s":[%s],"m":[%s]}`, strings.Join(set, ","), strings.Join(list, ","))
		}
		if _, ok := acceptOnce(t, p, object(), Mode{}); !ok {
			t.Errorf("%d distinct elements doubted", n)
		}
		was := set[n-1]
		set[n-1] = set[0]
		if _, ok := acceptOnce(t, p, object(), Mode{}); ok {
			t.Errorf("a set of %d with a duplicate accepted", n)
		}
		set[n-1] = was
		list[n-1] = list[n/3]
		if _, ok := acceptOnce(t, p, object(), Mode{}); ok {
			t.Errorf("a map list of %d with a duplicate accepted", n)
		}
	}
}

func TestAcceptStops(t *testing.T) {
	p := compiled(t, `{type: object, properties: {l: {type: array, items: {type: string, pattern: "^[aé]*$"}}, m: {type: object, additionalProperties: {type: integer}}}, additionalProperties: true}`, Options{})
	for name, in := range map[string]string{
		"elements": `{"l":[` + strings.Repeat(`"a",`, 50000) + `"a"]}`,
		"text":     `{"l":["` + strings.Repeat("é", 1<<20) + `"]}`,
		"members":  `{"u":[` + strings.Repeat(`{},`, 50000) + `1]}`,
	} {
		if _, ok := acceptOnce(t, p, in, Mode{Stop: interrupt.On(make(chan struct{}))}); !ok {
			t.Errorf("%s: doubted without a stop", name)
		}
		done := make(chan struct{})
		close(done)
		start := time.Now()
		if _, ok := acceptOnce(t, p, in, Mode{Stop: interrupt.On(done)}); ok {
			t.Errorf("%s: did not stop", name)
		}
		t.Logf("%s: stopped after %v, parsing included", name, time.Since(start))
	}
}

// TestDeep: as deep as a document may be, declared or not.
func TestDeep(t *testing.T) {
	p := compiled(t, `{type: object, properties: {a: {type: object, additionalProperties: true}, b: {x-kubernetes-preserve-unknown-fields: true}}}`, Options{})
	const depth = 9990
	for _, in := range []string{
		`{"a":{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}}`,
		`{"a":{"x":` + strings.Repeat(`[{"y":`, 1) + strings.Repeat("[", depth-2) + strings.Repeat("]", depth-2) + `}]}}`,
		`{"b":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`,
	} {
		if _, ok := acceptOnce(t, p, in, Mode{Edits: &Edits{}}); !ok {
			t.Errorf("%.40s… doubted", in)
		}
	}
}

// TestSlotsAreBounded: a small document must not take hundreds of times its size.
func TestSlotsAreBounded(t *testing.T) {
	var names strings.Builder
	for i := range 400 {
		fmt.Fprintf(&names, "p%d: {type: string}, ", i)
	}
	p := compiled(t, `{type: object, properties: {l: {type: array, items: {type: object, properties: {`+names.String()+`}}}}}`, Options{})
	if _, ok := acceptOnce(t, p, `{"l":[`+strings.Repeat(`{},`, 20000)+`{}]}`, Mode{}); ok {
		t.Error("slots for 8 million members were made")
	}
	if _, ok := acceptOnce(t, p, `{"l":[`+strings.Repeat(`{},`, 5000)+`{}]}`, Mode{}); !ok {
		t.Error("2 million slots are too many")
	}
}

// TestSharedPlan: many goroutines, one plan, patterns at their first use.
func TestSharedPlan(t *testing.T) {
	p := compiled(t, `{type: object, properties: {a: {type: string, pattern: "^shared [a-z]+$"}, b: {type: string, pattern: "\\bshared\\b"}, c: {type: integer, default: 1}}}`, Options{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if got, ok := acceptOnce(t, p, `{"a":"shared plan","b":"a shared é","x":1}`, Mode{}); !ok || got != `{"a":"shared plan","b":"a shared é","c":1}` {
					t.Errorf("%s %v", got, ok)
				}
			}
		})
	}
	group.Wait()
}
