package registry

import (
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine/kubeserver"
)

// maxReconciled bounds the CRDs whose status one commit changes, so that stores accept it. Further commits change the
// rest.
const maxReconciled = 16

// reconcile decides which CRD holds which name of a group, after changed was put or the CRD named deleted was deleted.
// It replaces the status of changed and returns copies of other CRDs with their new status, up to maxReconciled.
//
// A status depends on other CRDs only if a CRD waits for a name. So only the waiting CRDs and the holders of the names
// that they want take part.
func (c *catalog) reconcile(groupName string, changed *crd, deleted string, now time.Time) (others []*crd, more bool) {
	g := c.group(groupName)
	var candidates, involved immutableMap[string, *crd]
	candidates = g.waiting.Delete(deleted)
	changedName := ""
	if changed != nil {
		changedName = changed.name
		candidates = candidates.Set(changedName, changed)
	}
	involved = candidates
	for _, d := range candidates.All() {
		g.each(&d.desired().Names, func(holders *immutableMap[string, string], wanted string) {
			holder, _ := holders.Get(wanted)
			if other, ok := c.crds.Get(holder); ok && holder != deleted && holder != changedName {
				involved = involved.Set(holder, other)
			}
		})
	}
	var statuses []kubeserver.CRDStatus
	for _, d := range involved.All() {
		statuses = append(statuses, kubeserver.CRDStatus{
			Name: d.name, Created: d.record.Created, Desired: *d.desired(), Status: *d.record.Status,
			Fixed: d.record.Metadata != nil, // another server reconciles it
		})
	}
	names := kubeserver.ReconcileStatus(statuses, changedName, now)
	for i := range statuses {
		before, _ := involved.Get(statuses[i].Name)
		switch {
		case before == changed:
			changed.record.Status = &statuses[i].Status
		case !slices.Contains(names, before.name):
		case len(others) == maxReconciled:
			more = true
		default:
			after := *before
			after.record.Status = &statuses[i].Status
			others = append(others, &after)
		}
	}
	return others, more
}
