package registry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine"
)

// The four kinds of entries in a Store. No part of a key holds a slash: catalogs are DNS labels, CRDs and groups DNS subdomains.
//
//	catalog/CATALOG                    catalogRecord
//	crd/CATALOG/CRD                    crdRecord
//	group/CATALOG/GROUP                nothing: each write to a CRD of the group puts it, see groupKey
//	revision/CATALOG/CRD/DIGEST        summaryRecord, then the packed manifest
const (
	catalogPrefix  = "catalog/"
	crdPrefix      = "crd/"
	groupPrefix    = "group/"
	revisionPrefix = "revision/"
)

func catalogKey(catalog string) string  { return catalogPrefix + catalog }
func crdKey(catalog, crd string) string { return crdPrefix + catalog + "/" + crd }
func revisionKey(catalog, crd, digest string) string {
	return revisionPrefix + catalog + "/" + crd + "/" + digest
}

// groupKey is the key by which replicas take turns: who may have a name is decided from all CRDs of a group, so each write that can change
// the decision expects this entry as it was seen, and puts it.
func groupKey(catalog, group string) string { return groupPrefix + catalog + "/" + group }

// catalogRecord is what a store keeps of a catalog.
type catalogRecord struct {
	KubernetesMinor int       `json:"kubernetesMinor,omitempty"`
	Etag            string    `json:"etag"`
	Created         time.Time `json:"created"`
}

// crdRecord is what a store keeps of a CRD beside its revisions: it is the pointer to the current one, so that one put moves it.
type crdRecord struct {
	Etag       string         `json:"etag"`
	Generation int64          `json:"generation"`
	Created    time.Time      `json:"created"`
	Updated    time.Time      `json:"updated"`
	Status     *engine.Status `json:"status,omitempty"` // never written to; nil in a record of the former format alone
	Revisions  []revisionRef  `json:"revisions"`        // those kept, oldest first; the last is current

	// The former format had no status, but what one followed from: of two CRDs that claimed one name, the one with the earlier NamesSince had it.
	FormerNamesSince     time.Time `json:"namesSince,omitzero"`
	FormerStoredVersions []string  `json:"storedVersions,omitempty"`
}

// revisionRef is a revision's time as the current one.
type revisionRef struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"` // when it last became current
}

// summaryRecord is what a store keeps of a revision in front of its manifest.
type summaryRecord struct {
	summary

	// The former format had these three instead of a standing.
	FormerGroup          string       `json:"group,omitempty"`
	FormerNames          engine.Names `json:"names,omitzero"`
	FormerStorageVersion string       `json:"storageVersion,omitempty"`
}

// encodeRecord prints a record; behind it may stand the packed manifest: the record's length as a uvarint, the record, the rest.
func encodeRecord(record any, rest packed) ([]byte, error) {
	header, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	b := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen32+len(header)+len(rest)), uint64(len(header)))
	return append(append(b, header...), rest...), nil
}

func decodeRecord(value []byte, record any) (rest packed, err error) {
	size, n := binary.Uvarint(value)
	if n <= 0 || size > uint64(len(value)-n) {
		return nil, errors.New("the record is cut off")
	}
	if err := json.Unmarshal(value[n:n+int(size)], record); err != nil {
		return nil, fmt.Errorf("the record cannot be read: %w", err)
	}
	return packed(value[n+int(size):]), nil
}

// entryKey is a key taken apart; catalog, crd, group and digest are as far as the kind has them.
type entryKey struct{ kind, catalog, crd, group, digest string }

func splitKey(key string) (entryKey, error) {
	parts := strings.Split(key, "/")
	switch kind := parts[0] + "/"; {
	case kind == catalogPrefix && len(parts) == 2:
		return entryKey{kind: kind, catalog: parts[1]}, nil
	case kind == crdPrefix && len(parts) == 3:
		return entryKey{kind: kind, catalog: parts[1], crd: parts[2]}, nil
	case kind == groupPrefix && len(parts) == 3:
		return entryKey{kind: kind, catalog: parts[1], group: parts[2]}, nil
	case kind == revisionPrefix && len(parts) == 4:
		return entryKey{kind: kind, catalog: parts[1], crd: parts[2], digest: parts[3]}, nil
	}
	return entryKey{}, fmt.Errorf("the store has an entry %q, which this version of crdeval does not know: run the version that wrote it", key)
}
