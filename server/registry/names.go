package registry

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// nameConflict is why a CRD's names are not accepted, in the words of upstream's naming controller.
type nameConflict struct{ reason, message string }

// index computes what follows from a catalog's CRDs: their sorted names, which of them has which names of its group, and where a kind leads.
//
// Upstream decides about names as CRDs arrive and remembers it in their status. Here it is a function of the CRDs: the one whose names
// are older has them, and one whose names conflict has none. So all replicas decide alike, and deleting a CRD frees its names.
func (c *catalog) index() {
	c.names = slices.Sorted(maps.Keys(c.crds))
	c.kinds = make(map[groupKind]*crd, len(c.crds))
	c.refused = map[*crd]nameConflict{}
	taken := map[string]claims{}
	for _, d := range bySeniority(c.crds) {
		s := d.current().summary
		group, ok := taken[s.Group]
		if !ok {
			group = claims{resources: map[string]bool{}, kinds: map[string]bool{}}
			taken[s.Group] = group
		}
		kind := groupKind{s.Group, s.Names.Kind}
		if conflict, found := group.conflict(s.Names); found {
			c.refused[d] = conflict
			if c.kinds[kind] == nil {
				c.kinds[kind] = d // so that the answer is "not established", not "not found"
			}
			continue
		}
		group.add(s.Names)
		c.kinds[kind] = d
	}
}

func bySeniority(crds map[string]*crd) []*crd {
	return slices.SortedFunc(maps.Values(crds), func(a, b *crd) int {
		return cmp.Or(a.record.NamesSince.Compare(b.record.NamesSince), a.record.Created.Compare(b.record.Created), strings.Compare(a.name, b.name))
	})
}

// claims are the accepted names of one group: resources (plural, singular, short names) and kinds (kind, list kind).
type claims struct{ resources, kinds map[string]bool }

func (t claims) add(n names) {
	for _, name := range append([]string{n.Plural, n.Singular}, n.ShortNames...) {
		t.resources[name] = true
	}
	t.kinds[n.Kind], t.kinds[n.ListKind] = true, true
}

// conflict checks in upstream's order; like there, the last conflict found is the one reported.
func (t claims) conflict(n names) (conflict nameConflict, found bool) {
	report := func(reason string, used ...string) {
		if len(used) > 0 {
			conflict, found = nameConflict{reason, inUse(used)}, true
		}
	}
	check := func(reason string, taken map[string]bool, name string) {
		if name != "" && taken[name] {
			report(reason, name)
		}
	}
	check("PluralConflict", t.resources, n.Plural)
	check("SingularConflict", t.resources, n.Singular)
	var short []string
	for _, name := range n.ShortNames {
		if t.resources[name] && !slices.Contains(short, name) {
			short = append(short, name)
		}
	}
	report("ShortNamesConflict", short...)
	check("KindConflict", t.kinds, n.Kind)
	check("ListKindConflict", t.kinds, n.ListKind)
	return conflict, found
}

// inUse words one conflict as upstream does, and several as it aggregates errors.
func inUse(used []string) string {
	texts := make([]string, len(used))
	for i, name := range used {
		texts[i] = fmt.Sprintf("%q is already in use", name)
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// conditions are the ones upstream's controllers end at.
func (c *catalog) conditions(d *crd) (established bool, conditions []Condition) {
	if conflict, refused := c.refused[d]; refused {
		return false, []Condition{
			{Type: "NamesAccepted", Status: "False", Reason: conflict.reason, Message: conflict.message},
			{Type: "Established", Status: "False", Reason: "NotAccepted", Message: "not all names are accepted"},
		}
	}
	return true, []Condition{
		{Type: "NamesAccepted", Status: "True", Reason: "NoConflicts", Message: "no conflicts found"},
		{Type: "Established", Status: "True", Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"},
	}
}
