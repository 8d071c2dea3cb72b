package registry

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The kinds of entries in a Store. Names are DNS labels and subdomains, so they contain no slash.
//
//	catalog/CATALOG                    catalogRecord
//	crd/CATALOG/CRD                    crdRecord
//	revision/CATALOG/CRD/DIGEST        summary, then the packed manifest and conversion rules
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

type catalogRecord struct {
	Kubernetes string    `json:"kubernetes,omitempty"`
	Etag       string    `json:"etag"`
	Created    time.Time `json:"created"`
	Deleted    []fence   `json:"deleted,omitempty"` // of the last deletions that had one, oldest first
}

// fence is the smallest NotOlderThan that a registration of a deleted CRD must have.
type fence struct {
	CRD          string `json:"crd"`
	NotOlderThan int64  `json:"notOlderThan"`
}

// crdRecord lists the revisions of a CRD, so that one put changes the current revision.
type crdRecord struct {
	Etag       string                                          `json:"etag"`
	Generation int64                                           `json:"generation"`
	Created    time.Time                                       `json:"created"`
	Updated    time.Time                                       `json:"updated"`
	Status     *apiextensionsv1.CustomResourceDefinitionStatus `json:"status"`    // immutable
	Revisions  []revisionRef                                   `json:"revisions"` // oldest first; the last is current

	Fence    int64           `json:"fence,omitempty"`    // the largest NotOlderThan of its registrations
	Metadata *StoredMetadata `json:"metadata,omitempty"` // as stored by another server; nil if this registry sets it
}

// StoredMetadata is the metadata that another API server has set. Other metadata is in the manifest or in the record.
type StoredMetadata struct {
	UID                        types.UID    `json:"uid,omitempty"`
	ResourceVersion            string       `json:"resourceVersion,omitempty"`
	DeletionTimestamp          *metav1.Time `json:"deletionTimestamp,omitempty"`
	DeletionGracePeriodSeconds *int64       `json:"deletionGracePeriodSeconds,omitempty"`
}

type revisionRef struct {
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"` // when it last became current
}

// encodeRecord returns the length of the record's JSON as a uvarint, the JSON, and rest.
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
		return nil, errors.New("the record is truncated")
	}
	if err := json.Unmarshal(value[n:n+int(size)], record); err != nil {
		return nil, fmt.Errorf("decoding the record: %w", err)
	}
	return packed(value[n+int(size):]), nil
}

// entryKey is a parsed key. name is that of the CRD.
type entryKey struct{ kind, catalog, name, digest string }

func parseKey(key string) (entryKey, error) {
	parts := strings.Split(key, "/")
	switch kind := parts[0] + "/"; {
	case kind == catalogPrefix && len(parts) == 2:
		return entryKey{kind: kind, catalog: parts[1]}, nil
	case kind == crdPrefix && len(parts) == 3:
		return entryKey{kind: kind, catalog: parts[1], name: parts[2]}, nil
	case kind == revisionPrefix && len(parts) == 4:
		return entryKey{kind: kind, catalog: parts[1], name: parts[2], digest: parts[3]}, nil
	}
	return entryKey{}, fmt.Errorf(
		"the store has an entry %q, which this version of crdeval does not know: run the version that wrote it", key)
}
