package tree

import "testing"

func TestAccessors(t *testing.T) {
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, []byte(`{"s":"h\u00e9","p":"é","f":1.5,"i":-3,"a":[true,false,null],"":{}}`))
	if s := d.Field(root, "s"); d.Str(s) != "hé" || d.Runes(s) != 2 || string(d.Raw(s)) != `"h\u00e9"` {
		t.Errorf("s: %q, %d", d.Str(s), d.Runes(s))
	}
	if p := d.Field(root, "p"); d.Str(p) != "é" || d.Runes(p) != 1 || d.Nodes[p].Flags != Wide {
		t.Errorf("p: %q, %d", d.Str(p), d.Runes(p))
	}
	if f, i := d.Field(root, "f"), d.Field(root, "i"); d.Float(f) != 1.5 || d.Number(f) != 1.5 || d.Int(i) != -3 || d.Number(i) != -3 {
		t.Error("numbers are wrong")
	}
	a := d.Field(root, "a")
	if d.Len(a) != 3 || d.Nodes[d.Index(a, 1)].Kind != False || d.Index(a, 3) != 0 || d.Index(a, -1) != 0 || d.Index(root, 0) != 0 || d.Field(a, "x") != 0 {
		t.Error("the list is wrong")
	}
	if e := d.Field(root, ""); e == 0 || d.Key(e) != "" || d.Nodes[e].Kind.String() != "object" {
		t.Error("the empty key is wrong")
	}
	if d.Root(Request) != root || d.Root(Old) != 0 {
		t.Error("the roots are wrong")
	}
	old, err := d.Parse([]byte(`{"s":"hé"}`), Old, Limits{})
	if err != nil || !Equal(d, d.Field(root, "s"), d, d.Field(old, "s")) {
		t.Errorf("two sources: %v", err)
	}
}

// TestAnyAllocations: the strings of a value share one allocation. The other allocations are their headers, and the maps
// and lists: 1,871 if each string has its own.
func TestAnyAllocations(t *testing.T) {
	d := Acquire()
	defer d.Release()
	root := mustParse(t, d, route())
	if n := testing.AllocsPerRun(20, func() { d.Any(root) }); n > 1000 {
		t.Errorf("%v allocations", n)
	}
}
