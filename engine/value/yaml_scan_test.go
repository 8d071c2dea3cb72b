package value

import (
	"bytes"
	"testing"
)

// compareScan checks a document that the scanner reads against the YAML library: the text, the tree, and all positions.
// It returns false for a doubt.
func compareScan(t testing.TB, text []byte) (scanned bool) {
	t.Helper()
	limits := Limits{MaxBytes: maxScannedBytes}.WithDefaults()
	d, want := Acquire(), Acquire()
	defer d.Release()
	defer want.Release()
	got, root, ok, err := d.scanYAML(text, Request, limits.MaxDepth)
	if err != nil || !ok && (len(d.Nodes) != 1 || d.Nodes[0] != Node{} || len(d.Src[Arena]) > 0) {
		t.Fatalf("%q: %v, %d nodes are left", text, err, len(d.Nodes))
	}
	if !ok {
		return false
	}
	json, y, err := convertYAML(text, limits)
	if err != nil {
		t.Fatalf("%q: the scanner has %s, the library %v", text, got.json, err)
	}
	if y.strict != nil {
		t.Fatalf("%q: the scanner does not see %v", text, y.strict)
	}
	wantRoot, err := want.ParseFromYAML(json, y, Request, limits)
	if err != nil {
		t.Fatalf("%q: the scanner has %s, the parser %v", text, got.json, err)
	}
	if !bytes.Equal(got.json, json) {
		t.Fatalf("%q: JSON\n%s, want\n%s", text, got.json, json)
	}
	if len(d.Nodes) != len(want.Nodes) || root != wantRoot {
		t.Fatalf("%q: %d nodes from %d, want %d from %d", text, len(d.Nodes), root, len(want.Nodes), wantRoot)
	}
	for i := range d.Nodes {
		a, b := d.Nodes[i], want.Nodes[i]
		if a.KeySrc == Arena && a.KeySrc == b.KeySrc && d.Key(uint32(i)) == want.Key(uint32(i)) {
			a.Key = b.Key
		}
		if a.Flags&Escaped != 0 && a.Flags == b.Flags && d.Str(uint32(i)) == want.Str(uint32(i)) {
			a.Val = b.Val
		}
		if a != b {
			t.Fatalf("%q: node %d\n%+v, want\n%+v", text, i, a, b)
		}
	}
	var check func(i uint32, path Path)
	check = func(i uint32, path Path) {
		if a, b := got.Position(path), y.Position(path); a != b {
			t.Fatalf("%q: %v is at %+v, want %+v", text, path, a, b)
		}
		if a, b := got.KeyPosition(path), y.KeyPosition(path); a != b {
			t.Fatalf("%q: the key of %v is at %+v, want %+v", text, path, a, b)
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			step := Name(d.Key(c))
			if d.Nodes[i].Kind == Array {
				step = At(int(d.Nodes[c].Key))
			}
			check(c, append(path, step))
		}
	}
	check(root, make(Path, 0, 16))
	return true
}
