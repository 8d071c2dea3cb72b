package tree

import "testing"

// TestAtOffset compares each value of a converted document with the one at its path.
func TestAtOffset(t *testing.T) {
	for name, text := range map[string]string{
		"ordinary":   "items:\n- a: 1\n  b: [x, {c: null}]\n- {}\n\"0\": {d: e}\n",
		"aliases":    "a: &x {b: [1, {c: 2}]}\nd: *x\n",
		"duplicates": "a: {b: 1, b: 2}\nc: [3, {d: &x 4, e: *x}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			whole := NewText([]byte("# comment\n---\n"+text), Position{})
			json, converted, err := ConvertPart(whole, 10, len(whole.Bytes()), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			d := Acquire()
			defer d.Release()
			root, err := d.ParseJSON(json, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			var walk func(node uint32, path Path)
			walk = func(node uint32, path Path) {
				byPath, byOffset := converted.At(path), converted.AtOffset(int(d.Nodes[node].Off))
				if got, want := byOffset.Begin(), byPath.Begin(); got != want {
					t.Errorf("%s at %d of %s: offset %d, want %d", path, d.Nodes[node].Off, json, got, want)
				}
				for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
					step := Name(d.Key(c))
					if d.Nodes[node].Kind == Array {
						step = At(int(d.Nodes[c].Key))
					}
					walk(c, path.With(step))
				}
			}
			walk(root, nil)
		})
	}
}
