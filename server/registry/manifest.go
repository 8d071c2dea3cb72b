package registry

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/crdeval/crdeval/engine"
)

// neverEnding is for what has no caller.
var neverEnding = context.Background()

// packed is a canonical manifest, compressed: its length as a uvarint, then DEFLATE. Manifests are mostly prose and shrink to a tenth.
type packed []byte

var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // its only error is an unknown level
	}
	return w
}}

func pack(manifest []byte) packed {
	var b bytes.Buffer
	b.Write(binary.AppendUvarint(nil, uint64(len(manifest))))
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(&b)
	// A bytes.Buffer takes everything.
	_, _ = w.Write(manifest)
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// maxManifest bounds what a damaged length could have us allocate. It is far above any limit on manifests.
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
		return nil, fmt.Errorf("a stored manifest cannot be unpacked: %w", err)
	}
	return manifest, nil
}

// revision is one immutable manifest of a CRD with what is often asked of it.
type revision struct {
	digest   string
	summary  *summary
	manifest packed
}

// summary is what descriptions show of a manifest, so that listing neither unpacks nor compiles. It is never written to.
type summary struct {
	Scope    string               `json:"scope"`
	Versions []engine.VersionInfo `json:"versions"` // in order of priority
	Standing engine.DesiredStatus `json:"standing"`
}

// revisionOf makes the revision of a compiled definition.
func revisionOf(d *engine.Definition) *revision {
	return &revision{
		digest:   d.Revision(),
		summary:  &summary{Scope: string(d.Scope()), Versions: d.Versions(), Standing: d.DesiredStatus()},
		manifest: pack(d.Manifest()),
	}
}

// readRevision reads what a store keeps of a revision. The value is the caller's: it may be part of something larger, or be written to.
func readRevision(digest string, value []byte) (*revision, error) {
	var record summaryRecord
	manifest, err := decodeRecord(value, &record)
	if err != nil {
		return nil, err
	}
	if record.Standing.Group == "" {
		if record.Standing, err = formerStanding(&record, manifest); err != nil {
			return nil, err
		}
	}
	return &revision{digest: digest, summary: &record.summary, manifest: bytes.Clone(manifest)}, nil
}
