package tree

import "testing"

// TestOwn checks that a grafted member, including its key, survives a change of the Defaults source.
func TestOwn(t *testing.T) {
	for _, key := range []string{"a", "", "a\"b"} {
		var set Fragments
		f, err := set.Add(key, []byte(`{"b":[1,"x"],"":null}`))
		if err != nil {
			t.Fatal(err)
		}
		d := Acquire()
		d.SetSource(Defaults, set.Text)
		root, err := d.Parse([]byte(`{}`), Request, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		from := uint32(len(d.Nodes))
		d.Append(root, d.Graft(f))
		d.MarkDirty(root)
		want := string(d.AppendJSON(nil, root))
		d.Own(from, uint32(len(d.Nodes)))
		d.SetSource(Defaults, nil)
		if got := string(d.AppendJSON(nil, root)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := string(AppendAny(nil, d.Any(root))); got != string(d.AppendCanonical(nil, root)) {
			t.Errorf("Any %s, canonical %s", got, d.AppendCanonical(nil, root))
		}
		d.Release()
	}
}
