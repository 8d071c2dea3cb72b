package tree

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// TestEqualKeysInJSON checks keys of a manifest that are only equal in JSON. They are duplicates, and the last one counts.
func TestEqualKeysInJSON(t *testing.T) {
	for text, want := range map[string]string{
		"m: {\"8\": a, 8: b}\n":                        `b|duplicate field "m.8" "8" 8 true`,
		"m: {8: a, \"8\": b}\n":                        `b|duplicate field "m.8" 8 "8" true`,
		"m: {8: a, '8': b}\n":                          `b|duplicate field "m.8" 8 "8" true`,
		"m:\n  on: a\n  \"true\": b\n":                 `b|duplicate field "m.true" on "true" false`,
		"m:\n  yes: a\n  on: b\n":                      `b|duplicate field "m.true" yes on false`,
		"m: {true: a, on: b}\n":                        `b|duplicate field "m.true" true on false`,
		"m: {1000: a, 1e3: b}\n":                       `b|duplicate field "m.1000" 1000 1e3 false`,
		"m: {1_000: a, 1e3: b}\n":                      `b|duplicate field "m.1000" 1_000 1e3 false`,
		"m: {\"16\": a, 0x10: b}\n":                    `b|duplicate field "m.16" "16" 0x10 false`,
		"m: {? 0x10\n: a, ? \"16\"\n: b}\n":            `b|duplicate field "m.16" 0x10 "16" false`,
		"m: {1.0: a, 1: b}\n":                          `b|duplicate field "m.1" 1.0 1 false`,
		"m: {.Inf: a, \".inf\": b}\n":                  `b|duplicate field "m..inf" .Inf ".inf" false`,
		"m: {16777217.0: a, 16777216.0: b}\n":          `b|duplicate field "m.1.6777216e+07" 16777217.0 16777216.0 false`,
		"m: {8: a, b: x, b: y, \"8\": b}\n":            `b|duplicate field "m.8" 8 "8" true|duplicate field "m.b"   false`,
		"k: &k 8\nm: {*k : a, \"8\": b}\n":             `b|duplicate field "m.8" 8 "8" true`,
		"m: {\"8\": a, \"8\": b}\n":                    `b|duplicate field "m.8"   false`,
		"m: {b: a, \"b\": b}\n":                        `b|duplicate field "m.b"   false`,
		"x: &x {8: a}\nm: {<<: *x, \"8\": b}\n":        "b",
		"x: &x {\"8\": a}\nm: {<<: *x, 8: b}\n":        "b",
		"x: &x {on: a}\nm: {<<: *x, \"true\": b}\n":    "b",
		"m: {<<: {on: a}, \"true\": b}\n":              "b",
		"m: {<<: {on: a, \"true\": c}, \"true\": b}\n": `b|duplicate field "m.true" on "true" false`,
		"m: {!!str 8: a, \"9\": b}\n":                  "b",
		"m: {8: b}\n":                                  "b",
	} {
		for range 8 { // the YAML library chooses one of the values at random
			for _, list := range []bool{false, true} {
				sent := text
				if list {
					sent = "- " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
				}
				d, whole := Acquire(), NewText([]byte(sent), Position{})
				origin := whole.At(0)
				json, _, root, err := d.ConvertYAML([]byte(sent), Request, origin, Limits{})
				if err != nil {
					t.Fatalf("%q: %v", sent, err)
				}
				if list {
					root = d.Nodes[root].First
				}
				last := uint32(0)
				for c := d.Nodes[d.Field(root, "m")].First; c != 0; c = d.Nodes[c].Next {
					if d.Nodes[c].Kind == String && d.Str(c) == "b" {
						last = c
					}
				}
				got := "not b: " + string(json)
				if last != 0 {
					got = "b"
				}
				for duplicate := range d.Duplicates(Request) {
					p := &duplicate.Places[0]
					got += fmt.Sprintf("|%s %s %s %v", strings.Replace(duplicate.Text, `"[0].`, `"`, 1), p.WrittenBefore, p.Written, p.SameText)
				}
				if got != want {
					t.Errorf("%q: %s, want %s", sent, got, want)
				}
				d.Release()
			}
		}
	}
}

// TestRequestsWithEqualKeys checks that, for the body of a request, the duplicate keys are those of upstream's strict
// decoder, which does not see keys that are only equal in JSON.
func TestRequestsWithEqualKeys(t *testing.T) {
	for _, text := range []string{"{\"8\": a, 8: b}", "{on: a, \"true\": b}", "{1000: a, 1e3: b}", "{\"16\": a, 0x10: b}", "{on: a, yes: b}", "{16: a, 0x10: b}"} {
		d := Acquire()
		if _, err := d.ParseYAML([]byte(text), Request, Limits{}); err != nil {
			t.Fatal(err)
		}
		_, err := sigsyaml.YAMLToJSONStrict([]byte(text))
		if d.HasDuplicates(Request) != (err != nil) {
			t.Errorf("%s: duplicates %v, upstream: %v", text, d.HasDuplicates(Request), err)
		}
		d.Release()
	}
}

// TestStringKeys checks that the keys of ordinary documents do not change their meaning.
func TestStringKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	keys := []string{"a", "8", "0x11", "yes", "no", "1.50", "2e3", "\"7\"", "'6'", "é", "? x\n  ", "!!str 9", "&k 12", "-3", "+4", "0o14", "1_1"}
	rewritten := 0
	for range 2_000 {
		var b strings.Builder
		b.WriteString("# é\nm:\n")
		for _, k := range r.Perm(len(keys))[:1+r.IntN(6)] {
			fmt.Fprintf(&b, "  %s: {%s: \"é\", b: [~, 1.0, %s]}\n", keys[k], keys[r.IntN(10)], keys[r.IntN(10)])
		}
		text := b.String()
		want, err := sigsyaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		y := &YAMLSource{text: []byte(text)}
		changed := y.withStringKeys()
		if changed == nil {
			continue
		}
		rewritten++
		if got, err := sigsyaml.YAMLToJSON(changed); err != nil || string(got) != string(want) {
			t.Fatalf("%q becomes %q:\n%s %v\nwant\n%s", text, changed, got, err, want)
		}
	}
	if rewritten < 500 {
		t.Errorf("only %d documents have keys that are no strings", rewritten)
	}
}
