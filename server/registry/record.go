package registry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The three kinds of entries in a Store. No part of a key holds a slash: catalogs are DNS labels, CRDs DNS subdomains.
//
//	catalog/CATALOG                    catalogRecord
//	crd/CATALOG/CRD                    crdRecord
//	revision/CATALOG/CRD/DIGEST        revisionRecord, then the packed manifest
const (
	catalogPrefix  = "catalog/"
	crdPrefix      = "crd/"
	revisionPrefix = "revision/"
)

func catalogKey(catalog string) string  { return catalogPrefix + catalog }
func crdKey(catalog, crd string) string { return crdPrefix + catalog + "/" + crd }
func revisionKey(catalog, crd, digest string) string {
	return revisionPrefix + catalog + "/" + crd + "/" + digest
}

// catalogRecord is what a store keeps of a catalog.
type catalogRecord struct {
	KubernetesMinor int       `json:"kubernetesMinor,omitempty"`
	Etag            string    `json:"etag"`
	Created         time.Time `json:"created"`
}

// crdRecord is what a store keeps of a CRD beside its revisions: it is the pointer to the current one, so that one put moves it.
type crdRecord struct {
	Etag       string    `json:"etag"`
	Generation int64     `json:"generation"`
	Created    time.Time `json:"created"`
	Updated    time.Time `json:"updated"`
	// NamesSince is when the CRD's names were last changed: of two CRDs that claim one name, the earlier has it.
	NamesSince     time.Time     `json:"namesSince"`
	StoredVersions []string      `json:"storedVersions"`
	Revisions      []revisionRef `json:"revisions"` // those kept, oldest first; the last is current
}

// revisionRef is a revision's time as the current one.
type revisionRef struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"` // when it last became current
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

// splitKey returns an entry's kind with the names in its key.
func splitKey(key string) (kind, catalog, crd, digest string, err error) {
	parts := strings.Split(key, "/")
	switch kind = parts[0] + "/"; {
	case kind == catalogPrefix && len(parts) == 2:
		return kind, parts[1], "", "", nil
	case kind == crdPrefix && len(parts) == 3:
		return kind, parts[1], parts[2], "", nil
	case kind == revisionPrefix && len(parts) == 4:
		return kind, parts[1], parts[2], parts[3], nil
	}
	return "", "", "", "", fmt.Errorf("the store has an entry %q, which this version of crdeval does not know: run the version that wrote it", key)
}
