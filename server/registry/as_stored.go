package registry

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
)

// asStored is what another API server has set in a CRD.
type asStored struct {
	created  time.Time
	metadata StoredMetadata
	status   apiextensionsv1.CustomResourceDefinitionStatus
}

// maxStatusBytes bounds the JSON of the status of a CRD that another API server stores.
const maxStatusBytes = 256 << 10

// asStoredBy returns what another API server has set in a CRD, which replaces old unless that is nil.
func asStoredBy(m *apiextensionsv1.CustomResourceDefinition, old *crd, now time.Time) (*asStored, error) {
	text, err := json.Marshal(&m.Status)
	if err != nil {
		return nil, fmt.Errorf("encoding the status of CRD %q: %w", m.Name, err)
	}
	if len(text) > maxStatusBytes {
		return nil, errorf(LimitExceeded,
			metadata{"crd": m.Name, "limit": "max_status_bytes", "maximum": strconv.Itoa(maxStatusBytes)},
			"the status of CRD %q has %d bytes, more than the limit max_status_bytes, which is %d", m.Name, len(text), maxStatusBytes)
	}
	s := &asStored{created: m.CreationTimestamp.UTC(), status: m.Status, metadata: StoredMetadata{
		UID: m.UID, ResourceVersion: m.ResourceVersion, DeletionTimestamp: m.DeletionTimestamp,
		DeletionGracePeriodSeconds: m.DeletionGracePeriodSeconds,
	}}
	if s.created.IsZero() {
		s.created = now
		if old != nil {
			s.created = old.record.Created
		}
	}
	return s, nil
}

// storedBy returns what another API server has set in a registered CRD, nil if this registry sets it.
func (c *crd) storedBy() *asStored {
	if c.record.Metadata == nil {
		return nil
	}
	return &asStored{created: c.record.Created, metadata: *c.record.Metadata, status: *c.record.Status}
}

// metadata returns the metadata that an API server sets. For a CRD of this registry, the uid is a digest of what
// distinguishes it from others and from an earlier CRD of its name.
func (c *crd) metadata() StoredMetadata {
	if c.record.Metadata != nil {
		return *c.record.Metadata
	}
	h := sha256.Sum256([]byte(c.catalog + "/" + c.name + "/" + c.record.Created.UTC().Format(time.RFC3339Nano)))
	h[6], h[8] = h[6]&0x0f|0x80, h[8]&0x3f|0x80 // a UUID of version 8
	m := StoredMetadata{UID: types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16]))}
	if c.version != 0 {
		m.ResourceVersion = strconv.FormatUint(c.version, 10)
	}
	return m
}

// equal reports whether both are nil or have the same values.
func (s *asStored) equal(other *asStored) bool {
	if s == nil || other == nil {
		return s == other
	}
	return s.created.Equal(other.created) && equality.Semantic.DeepEqual(s.metadata, other.metadata) &&
		equality.Semantic.DeepEqual(s.status, other.status)
}

// unchanged reports whether registering the candidate instead of a CRD would change nothing. Like an update in an API
// server, a registration adds the storage version to the status, also if the manifest is the current one.
func (j *candidate) unchanged(d *crd, notOlderThan int64) bool {
	if d.current().digest != j.revision.digest || notOlderThan > d.record.Fence || (d.record.Metadata == nil) != (j.stored == nil) {
		return false
	}
	if j.stored != nil {
		return d.record.Generation == j.generation && d.storedBy().equal(j.stored)
	}
	return slices.Equal(j.status(*d.record.Status).StoredVersions, d.record.Status.StoredVersions)
}

// status returns the status of a CRD after the candidate was registered, before it is reconciled.
func (j *candidate) status(before apiextensionsv1.CustomResourceDefinitionStatus) apiextensionsv1.CustomResourceDefinitionStatus {
	switch {
	case j.stored != nil:
		return j.stored.status
	case j.rulesOnly:
		return before
	}
	return j.revision.summary.Desired.AddStoredVersion(before)
}

// maxDeleted bounds the deleted CRDs of a catalog whose fences are kept.
const maxDeleted = 128

// deletedFence returns the fence of a CRD that was deleted, 0 for none.
func (c *catalogRecord) deletedFence(name string) int64 {
	for _, f := range c.Deleted {
		if f.CRD == name {
			return f.NotOlderThan
		}
	}
	return 0
}

// withFence returns the record with the fence of a deleted CRD; 0 removes it.
func (c catalogRecord) withFence(name string, notOlderThan int64) catalogRecord {
	kept := make([]fence, 0, len(c.Deleted)+1)
	for _, f := range c.Deleted {
		if f.CRD != name {
			kept = append(kept, f)
		}
	}
	if notOlderThan > 0 {
		kept = append(kept, fence{CRD: name, NotOlderThan: notOlderThan})
	}
	c.Deleted = kept[max(0, len(kept)-maxDeleted):]
	return c
}

// checkFence returns an error if an earlier registration or deletion of the CRD had a larger NotOlderThan. d is nil for a
// CRD that is not registered.
func (p Precondition) checkFence(c *catalog, d *crd, name string) error {
	kept, what := c.record.deletedFence(name), "deletion"
	if d != nil {
		kept, what = d.record.Fence, "registration"
	}
	if p.NotOlderThan == 0 || p.NotOlderThan >= kept {
		return nil
	}
	return errorf(CRDOutdated, metadata{"catalog": c.name, "crd": name, "not_older_than": strconv.FormatInt(kept, 10)},
		"CRD %q of catalog %q: not_older_than is %d, but an earlier %s had %d: this CRD is outdated; read it again from the "+
			"storage that you mirror", name, c.name, p.NotOlderThan, what, kept)
}
