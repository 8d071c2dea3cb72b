package registry

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/crdeval/crdeval/engine"
)

// revision is one manifest of a CRD. It is immutable.
type revision struct {
	digest   string
	summary  *summary
	manifest packed
}

// summary has the parts of a manifest that lists and reconciliation need. Stores keep it in front of the manifest.
type summary struct {
	Scope    string               `json:"scope"`
	Versions []engine.VersionInfo `json:"versions"` // in order of priority
	Desired  engine.DesiredStatus `json:"desired"`
}

func revisionOf(d *engine.Definition) *revision {
	return &revision{
		digest:   d.Revision(),
		summary:  &summary{Scope: string(d.Scope()), Versions: d.Versions(), Desired: d.DesiredStatus()},
		manifest: pack(d.Manifest()),
	}
}

// decodeRevision decodes the value of a revision's entry.
func decodeRevision(digest string, value []byte) (*revision, error) {
	rev := &revision{digest: digest, summary: &summary{}}
	manifest, err := decodeRecord(value, rev.summary)
	rev.manifest = bytes.Clone(manifest) // value may be a part of a larger buffer
	return rev, err
}

// unpack returns the manifest of one of d's revisions.
func (rev *revision) unpack(d *crd) ([]byte, error) {
	manifest, err := rev.manifest.unpack()
	if err != nil {
		return nil, fmt.Errorf("CRD %q of catalog %q, revision %s: %w", d.name, d.catalog, rev.digest, err)
	}
	return manifest, nil
}

// packed is a compressed manifest: the length as a uvarint, then DEFLATE. It has about a tenth of the length.
type packed []byte

var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // NewWriter fails for unknown levels only
	}
	return w
}}

func pack(manifest []byte) packed {
	b := bytes.NewBuffer(binary.AppendUvarint(nil, uint64(len(manifest))))
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	_, _ = w.Write(manifest) // a Buffer returns no errors
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// maxManifest bounds the allocation for a damaged length. It is far above the limit for manifests.
const maxManifest = 1 << 30

func (p packed) size() int {
	size, _ := binary.Uvarint(p)
	return int(min(size, maxManifest))
}

func (p packed) unpack() ([]byte, error) {
	size, n := binary.Uvarint(p)
	if n <= 0 || size > maxManifest {
		return nil, errors.New("a stored manifest has no length")
	}
	manifest := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(p[n:])), manifest); err != nil {
		return nil, fmt.Errorf("decompressing a stored manifest: %w", err)
	}
	return manifest, nil
}
