package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
)

// The former format of records had no status: who had a name was computed from who claimed it first. What it came to is what such CRDs
// start with now; it is written as soon as it changes, or the CRD does.

// former gives a status to those put without one.
func (d *draft) former() error {
	type place struct{ catalog, group string }
	lacking := map[place][]*crd{}
	for _, c := range d.put {
		if c.record.Status == nil {
			p := place{c.catalog, c.standing().Group}
			lacking[p] = append(lacking[p], c)
		}
	}
	for p, list := range lacking {
		c, err := d.touch(p.catalog)
		if err != nil {
			return err
		}
		var group []engine.CRDStatus
		for _, other := range c.sorted.All() {
			if d.put[crdKey(p.catalog, other.name)] == nil && other.standing().Group == p.group {
				group = append(group, other.claimant())
			}
		}
		for _, other := range d.put {
			if other.record.Status != nil && other.catalog == p.catalog && other.standing().Group == p.group {
				group = append(group, other.claimant())
			}
		}
		settleFormer(list, group)
	}
	return nil
}

// settleFormer settles CRDs without a status, beside others of their group, in the order in which they claimed their names.
func settleFormer(list []*crd, others []engine.CRDStatus) {
	slices.SortFunc(list, func(a, b *crd) int {
		return cmp.Or(a.record.FormerNamesSince.Compare(b.record.FormerNamesSince), a.record.Created.Compare(b.record.Created), strings.Compare(a.name, b.name))
	})
	group := others
	for i, c := range list {
		status := engine.Status{StoredVersions: c.record.FormerStoredVersions}
		c.record.Status = &status
		claimant := c.claimant()
		claimant.Created = time.Unix(int64(i), 0) // their order, whatever ties there were
		group = append(group, claimant)
	}
	engine.ReconcileStatus(group, "", time.Now())
	for i, c := range list {
		status := group[len(others)+i].Status
		for j := range status.Conditions {
			status.Conditions[j].LastTransitionTime = metav1.NewTime(c.record.FormerNamesSince.Truncate(time.Second))
		}
		c.record.Status = &status
	}
}

// formerStanding is the standing of a revision that was kept without one. Those that were accepted then have structural schemas; what else it takes
// is in the manifest, and groups that need it are few.
func formerStanding(r *summaryRecord, manifest packed) (engine.DesiredStatus, error) {
	s := engine.DesiredStatus{Group: r.FormerGroup, Names: r.FormerNames, StorageVersion: r.FormerStorageVersion}
	if !protected(s.Group) {
		return s, nil
	}
	text, err := manifest.unpack()
	if err != nil {
		return s, err
	}
	d, err := engine.CompileStored(neverEnding, text, engine.Options{})
	if err != nil {
		return s, fmt.Errorf("reading a manifest of the former format: %w", err)
	}
	return d.DesiredStatus(), nil
}

// protected says whether a group's CRDs have the condition KubernetesAPIApprovalPolicyConformant.
func protected(group string) bool {
	for _, suffix := range []string{"k8s.io", "kubernetes.io"} {
		if group == suffix || strings.HasSuffix(group, "."+suffix) {
			return true
		}
	}
	return false
}
