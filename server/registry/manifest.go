package registry

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/crdeval/crdeval/engine"
)

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
	return b.Bytes()
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
	summary  summary
	manifest packed
}

// summary is what descriptions show of a manifest, so that listing neither unpacks nor compiles.
type summary struct {
	Group          string               `json:"group"`
	Names          names                `json:"names"`
	Scope          string               `json:"scope"`
	Versions       []engine.VersionInfo `json:"versions"` // in order of priority
	StorageVersion string               `json:"storageVersion"`
}

// names are a CRD's spec.names.
type names struct {
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular,omitempty"`
	ShortNames []string `json:"shortNames,omitempty"`
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// describe makes the revision of a compiled definition.
func describe(d *engine.Definition) (*revision, error) {
	var manifest struct {
		Spec struct {
			Names names `json:"names"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(d.Manifest(), &manifest); err != nil {
		return nil, fmt.Errorf("reading the canonical manifest of %s: %w", d.Name(), err)
	}
	return &revision{
		digest: d.Revision(),
		summary: summary{
			Group: d.Group(), Names: manifest.Spec.Names, Scope: string(d.Scope()), Versions: d.Versions(), StorageVersion: d.StorageVersion(),
		},
		manifest: pack(d.Manifest()),
	}, nil
}
