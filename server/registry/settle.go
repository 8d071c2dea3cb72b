package registry

import (
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry/immutable"
)

// mostSettled is the number of other CRDs whose status one commit changes at most, which keeps a commit below what stores take at once. Should
// there be more, further commits follow: an API server's controllers take time, too.
const mostSettled = 16

func (c *crd) claimant() engine.CRDStatus {
	return engine.CRDStatus{
		Name: c.name, Created: c.record.Created, Desired: *c.standing(), Status: *c.record.Status,
	}
}

// settling is the part of a commit that follows from the others: the status of the CRDs of a group after one of them changed.
type settling struct {
	others []*crd // with their new status, the records otherwise as they were
	more   bool   // there are yet others
}

// settle decides anew who has which name of a group. first is the CRD that was created or changed, nil after one was deleted; its status is
// replaced. gone is the name of the deleted one.
//
// A status depends on others only where a CRD waits for a name. So those that wait are looked at, and who has what they ask for; whoever has all
// names that it asks for is as it was, however many these are.
func (c *catalog) settle(name string, first *crd, gone string, now time.Time) settling {
	g := c.group(name)
	asking := []*crd{}
	if first != nil {
		asking = append(asking, first)
		g.waiting = g.waiting.Delete(first.name)
	}
	for _, d := range g.waiting.Delete(gone).All() {
		asking = append(asking, d)
	}
	involved := immutable.Sorted[string, *crd]{}
	for _, d := range asking {
		involved = involved.Set(d.name, d)
	}
	for _, d := range asking {
		for wanted := range claims(&d.standing().Names) {
			holder, held := g.holders.Get(wanted)
			if _, there := involved.Get(holder); !held || there || holder == gone {
				continue
			}
			if other, ok := c.crds.Get(holder); ok {
				involved = involved.Set(holder, other)
			}
		}
	}
	var group []engine.CRDStatus
	for _, d := range involved.All() {
		group = append(group, d.claimant())
	}
	firstName := ""
	if first != nil {
		firstName = first.name
	}
	changed := engine.ReconcileStatus(group, firstName, now)
	var s settling
	for i := range group {
		before, _ := involved.Get(group[i].Name)
		switch {
		case before == first:
			first.record.Status = &group[i].Status
		case !slices.Contains(changed, before.name):
		case len(s.others) == mostSettled:
			s.more = true
		default:
			after := *before
			after.record.Status = &group[i].Status
			s.others = append(s.others, &after)
		}
	}
	return s
}

func sameNames(a, b *engine.Names) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && slices.Equal(a.ShortNames, b.ShortNames) &&
		a.Kind == b.Kind && a.ListKind == b.ListKind && slices.Equal(a.Categories, b.Categories)
}
