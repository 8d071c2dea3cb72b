package bench

import (
	"bytes"
	"testing"
)

// TestCounts tests how the verdicts of each tool are counted.
func TestCounts(t *testing.T) {
	for _, c := range []struct {
		tool, stdout   string
		valid, invalid int
		fails          bool
	}{
		{"crdeval", "2000 objects: 2000 allowed\n", 2000, 0, false},
		{"crdeval", "a.yaml: rejected\n1 object: 0 allowed, 1 rejected\n", 0, 1, false},
		{"crdeval", "a.yaml: allowed\n", 0, 0, true},
		{"kubeconform", `{"resources":[],"summary":{"valid":3,"invalid":1,"errors":2,"skipped":4}}`, 3, 7, false},
		{"kubeconform", "", 0, 0, true},
		{"kubectl-validate", `{"a":[{"status":"Success"},{"status":"Failure"}],"b":[{"status":"Success"}]}` + "\nUsage",
			2, 1, false},
		{"kubectl-validate", "", 0, 0, true},
	} {
		for _, tool := range commandTools {
			if tool.name != c.tool {
				continue
			}
			valid, invalid, err := tool.count([]byte(c.stdout))
			if (err != nil) != c.fails || err == nil && (valid != c.valid || invalid != c.invalid) {
				t.Errorf("%s %q: %d valid, %d invalid, %v", c.tool, c.stdout, valid, invalid, err)
			}
		}
	}
}

// TestVariants tests that the objects of the cli cases differ.
func TestVariants(t *testing.T) {
	w := &workplace{}
	o, err := load("../testdata/bench", 1)
	if err != nil {
		t.Fatal(err)
	}
	w.route = o.body
	us, err := newOurs(o)
	if err != nil {
		t.Fatal(err)
	}
	one, other := w.object(1), w.object(2)
	for _, part := range []string{"shop-1", "shop-1.example.com", "/cart/1", "cart-1-canary"} {
		if !bytes.Contains(one, []byte(part)) || bytes.Contains(other, []byte(part)) {
			t.Errorf("%q: %s and %s", part, one, other)
		}
	}
	for _, body := range [][]byte{one, other} {
		if _, err := us.create(body); err != nil {
			t.Error(err)
		}
	}
}
