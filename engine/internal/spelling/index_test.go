package spelling

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// names are enough for an index, of all kinds.
func names() []string {
	list := []string{"", "a", "ab", "Replicas", "replica", "repl", "cron-spec", "cronSpec", "cron_spec", "policy", "policies", "class", "classes", "größe", "x_y.z", strings.Repeat("long", 17)}
	for i := range indexFrom {
		list = append(list, fmt.Sprintf("field%02d", i))
	}
	slices.Sort(list)
	return list
}

func TestNear(t *testing.T) {
	list := names()
	x := New(list)
	always := []string{strings.Repeat("long", 17), "größe"} // of which nothing is known
	for _, c := range []struct {
		name  string
		slips int
		want  string // with what is always there
	}{
		{"replicas", 2, "Replicas repl replica"},
		{"replcias", 2, "Replicas replica"},
		{"rep", 1, "Replicas repl replica"},
		{"cronspec", 2, "cron-spec cronSpec cron_spec"},
		{"CRON.SPEC", 2, "cron-spec cronSpec cron_spec"},
		{"policie", 2, "policies policy"},
		{"policys", 2, "policies policy"},
		{"clss", 1, "class"},
		{"xyz", 1, "x_y.z"},
		{"a", 0, "a"},
		{"quite-another", 3, ""},
		{"", 0, ""},
	} {
		set, looked, ok := x.Near(c.name, c.slips, 1000, Set{1, 2, 3}[:0])
		var got []string
		for i := range set.All() {
			got = append(got, list[i])
		}
		want := always
		if c.want != "" {
			want = append(strings.Split(c.want, " "), always...)
		}
		slices.Sort(want)
		if !ok || looked < len(always) || looked > 4*len(list) {
			t.Errorf("%q: %v after looking at %d", c.name, ok, looked)
		}
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%q: %q, without %q", c.name, got, w)
			}
		}
		if len(got) > len(want)+2 || !slices.IsSorted(got) {
			t.Errorf("%q: %q, want %q and little else, in the order of the list", c.name, got, want)
		}
	}
	for _, foreign := range []string{"straße", strings.Repeat("x", Longest+1)} {
		if _, _, ok := x.Near(foreign, 3, 1000, nil); ok {
			t.Errorf("%q is said to be known", foreign)
		}
	}
}

func TestNewAndSize(t *testing.T) {
	if x := New(names()[:indexFrom-1]); x != nil || x.Size() != 0 {
		t.Error("an index of few names")
	}
	if x := New(make([]string, mostNames+1)); x != nil {
		t.Error("an index of too many names")
	}
	many := make([]string, mostNames)
	for i := range many {
		many[i] = fmt.Sprintf("n%05d", i)
	}
	x := New(many)
	if size := x.Size(); size < mostNames*20 || size > mostNames*24 {
		t.Errorf("%d bytes", size)
	}
	near, _, ok := x.Near("n65533x", 2, 1<<20, nil)
	if !ok || near[65533/64]&(1<<(65533%64)) == 0 {
		t.Error("the name is not near to itself with a letter more")
	}
	for most := range 3 {
		if _, looked, ok := x.Near("n65533x", 2, most*30_000, nil); !ok || looked <= most*30_000 || looked > most*30_000+mostNames+2000 {
			t.Errorf("looked at %d, and was to look at %d", looked, most*30_000)
		}
	}
}
