package tree

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	defaults := &Fragments{}
	plain := mustAdd(t, defaults, "added", `{"x":[1,2.0,"s"]}`)
	escaped := mustAdd(t, defaults, "a\"\n\xff", `[{"k\n":"v\u00e9"},"\t"]`)
	for _, c := range []struct {
		name, in, want string
		edit           func(d *Doc, root uint32)
	}{
		{"nothing", ` {"a" : 1 } `, `{"a":1}`, func(*Doc, uint32) {}},
		{"remove the first", `{"a":1,"b":2,"c":3}`, `{"b":2,"c":3}`, func(d *Doc, root uint32) {
			d.Remove(root, 0, d.Field(root, "a"))
		}},
		{"remove in the middle", `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`, func(d *Doc, root uint32) {
			d.Remove(root, d.Field(root, "a"), d.Field(root, "b"))
		}},
		{"remove all while walking", `{"a":1,"b":2,"c":3}`, `{}`, func(d *Doc, root uint32) {
			for c := d.Nodes[root].First; c != 0; c = d.Nodes[c].Next {
				d.Remove(root, 0, c)
			}
		}},
		{"below, and spaces elsewhere", `{"a": [ 1 ], "b": {"c": 1}}`, `{"a":[1],"b":{}}`, func(d *Doc, root uint32) {
			b := d.Field(root, "b")
			d.Remove(b, 0, d.Field(b, "c"))
			d.MarkDirty(root, 0)
		}},
		{"append a default", `{"a":1}`, `{"a":1,"added":{"x":[1,2,"s"]}}`, func(d *Doc, root uint32) {
			d.Append(root, d.Graft(plain))
		}},
		{"append to nothing", `{}`, `{"added":{"x":[1,2,"s"]}}`, func(d *Doc, root uint32) {
			d.Append(root, d.Graft(plain))
		}},
		{"append with escapes, after other escapes", `{"\u0061":"\n"}`, `{"a":"\n","a\"\n` + "\ufffd" + `":[{"k\n":"v\u00e9"},"\t"]}`, func(d *Doc, root uint32) {
			added := d.Graft(escaped)
			d.Append(root, added)
			if got := d.Str(d.Field(d.Index(added, 0), "k\n")); got != "vé" {
				t.Errorf("content %q", got)
			}
		}},
		{"the same default twice", `[{},{}]`, `[{"added":{"x":[1,2,"s"]}},{"added":{"x":[1,2,"s"]}}]`, func(d *Doc, root uint32) {
			d.Append(d.Index(root, 0), d.Graft(plain))
			d.Append(d.Index(root, 1), d.Graft(plain))
			d.MarkDirty(root)
		}},
		{"insert first and after", `{"b":1}`, `{"a":0,"b":1,"c":2}`, func(d *Doc, root uint32) {
			b := d.Field(root, "b")
			for _, add := range []struct {
				key, text string
				after     uint32
			}{{"a", "0", 0}, {"c", "2", b}} {
				i, err := d.Parse([]byte(add.text), Arena, Limits{})
				if err != nil {
					t.Fatal(err)
				}
				d.SetKey(i, add.key)
				d.InsertAfter(root, add.after, i)
			}
		}},
		{"replace", `{"a":null,"b":2}`, `{"a":{"x":[1,2,"s"]},"b":2}`, func(d *Doc, root uint32) {
			d.Replace(d.Field(root, "a"), d.Graft(plain))
			d.MarkDirty(root)
		}},
		{"replace from the arena", `{"metadata":{"labels":{}}}`, `{"metadata":{"name":"\u0078","n":1}}`, func(d *Doc, root uint32) {
			i, err := d.Parse([]byte(`{"name":"\u0078","n":1.0}`), Arena, Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Str(d.Field(i, "name")); got != "x" {
				t.Errorf("name %q", got)
			}
			d.Replace(d.Field(root, "metadata"), i)
			d.MarkDirty(root)
		}},
		{"an element", `[1,null,3]`, `[1,{"x":[1,2,"s"]},3]`, func(d *Doc, root uint32) {
			d.Replace(d.Index(root, 1), d.Graft(plain))
			d.MarkDirty(root)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := Acquire()
			defer d.Release()
			d.SetSource(Defaults, defaults.Text)
			root := mustParse(t, d, []byte(c.in))
			c.edit(d, root)
			got := string(d.AppendJSON(nil, root))
			// A copied string keeps its escapes and a printed one does not, so normalize them before comparing.
			if got != c.want && strings.ReplaceAll(got, `\u0078`, "x") != strings.ReplaceAll(c.want, `\u0078`, "x") {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			var count uint32
			for e := d.Nodes[root].First; e != 0; e = d.Nodes[e].Next {
				count++
			}
			if count != d.Nodes[root].Live {
				t.Errorf("%d members, %d counted", count, d.Nodes[root].Live)
			}
		})
	}
}

func mustAdd(t *testing.T, s *Fragments, key, json string) *Fragment {
	t.Helper()
	f, err := s.Add(key, []byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFragmentsRejectOtherText(t *testing.T) {
	s := &Fragments{}
	for _, text := range []string{``, `{`, `1,"b":2`, `1,"a":2`, `1}`, `1 2`, strings.Repeat("[", 10001)} {
		if f, err := s.Add("a", []byte(text)); err == nil {
			t.Errorf("%.20q became %d nodes", text, f.Len())
		}
	}
	if len(s.Text) != 0 {
		t.Errorf("the text is %q", s.Text)
	}
}

func TestGraftAllocatesNothing(t *testing.T) {
	s := &Fragments{}
	f := mustAdd(t, s, "a", `{"b":["c\n"]}`)
	d := Acquire()
	defer d.Release()
	empty := []byte(`{}`)
	do := func() {
		d.Reset()
		d.SetSource(Defaults, s.Text)
		root := mustParse(t, d, empty)
		d.Append(root, d.Graft(f))
	}
	do()
	if got := testing.AllocsPerRun(100, do); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestOutputAroundEdits checks that exactly the text between two edits is copied as written.
func TestOutputAroundEdits(t *testing.T) {
	const text = `{"a":1,"b":{"x":1,"y":2},"c":3,"d" :4,"e":5, "f":1.0,"g":"\u0041","h":7,"\u0069":8,"j":9}`
	for _, c := range []struct{ remove, want string }{
		{"a", `{"b":{"x":1,"y":2},"c":3,"d":4,"e":5,"f":1,"g":"\u0041","h":7,"i":8,"j":9}`},
		{"b", `{"a":1,"c":3,"d":4,"e":5,"f":1,"g":"\u0041","h":7,"i":8,"j":9}`},
		{"h", `{"a":1,"b":{"x":1,"y":2},"c":3,"d":4,"e":5,"f":1,"g":"\u0041","i":8,"j":9}`},
		{"j", `{"a":1,"b":{"x":1,"y":2},"c":3,"d":4,"e":5,"f":1,"g":"\u0041","h":7,"i":8}`},
		{"b.x", `{"a":1,"b":{"y":2},"c":3,"d":4,"e":5,"f":1,"g":"\u0041","h":7,"i":8,"j":9}`},
		{"b.y", `{"a":1,"b":{"x":1},"c":3,"d":4,"e":5,"f":1,"g":"\u0041","h":7,"i":8,"j":9}`},
	} {
		d := Acquire()
		root := mustParse(t, d, []byte(text))
		parent, name := root, c.remove
		if outer, inner, below := strings.Cut(name, "."); below {
			parent, name = d.Field(root, outer), inner
		}
		prev := uint32(0)
		for m := d.Nodes[parent].First; m != 0; m = d.Nodes[m].Next {
			if d.Key(m) == name {
				d.Remove(parent, prev, m)
			}
			prev = m
		}
		d.MarkDirty(root)
		if got := string(d.AppendJSON(nil, root)); got != c.want {
			t.Errorf("without %s: %s\nwant %s", c.remove, got, c.want)
		}
		d.Release()
	}
}
