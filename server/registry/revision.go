package registry

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// revision is one manifest of a CRD with its conversion rules. It is immutable.
type revision struct {
	digest  string
	summary *summary
	content packed // the manifest and then the rules
}

// summary has the parts of a manifest that lists and reconciliation need. Stores keep it in front of the content.
type summary struct {
	Scope    string                   `json:"scope"`
	Versions []engine.VersionInfo     `json:"versions"` // in order of priority
	Desired  kubeserver.DesiredStatus `json:"desired"`

	// Terminating says that the CRD is being deleted, so that objects cannot be created.
	Terminating bool `json:"terminating,omitempty"`
	// ConversionBytes is the length of the conversion rules at the end of the content; 0 for none.
	ConversionBytes int `json:"conversionBytes,omitempty"`
}

// revisionOf returns the revision of a definition that was compiled with these conversion rules.
func revisionOf(d *engine.Definition, rules []byte) *revision {
	return &revision{
		digest: d.Revision(),
		summary: &summary{
			Scope: string(d.Scope()), Versions: d.Versions(), Desired: kubeserver.DesiredStatusOf(d), Terminating: d.Terminating(),
			ConversionBytes: len(rules),
		},
		content: pack(slices.Concat(d.Manifest(), rules)),
	}
}

// decodeRevision decodes the value of a revision's entry.
func decodeRevision(digest string, value []byte) (*revision, error) {
	rev := &revision{digest: digest, summary: &summary{}}
	content, err := decodeRecord(value, rev.summary)
	rev.content = bytes.Clone(content) // value may be a part of a larger buffer
	return rev, err
}

// unpack returns the manifest of one of d's revisions and its conversion rules, nil for none.
func (rev *revision) unpack(d *crd) (manifest, rules []byte, err error) {
	content, err := rev.content.unpack()
	n := len(content) - rev.summary.ConversionBytes
	if err == nil && (n < 0 || n > len(content)) {
		err = fmt.Errorf("a stored manifest of %d bytes cannot end with %d bytes of conversion rules",
			len(content), rev.summary.ConversionBytes)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("CRD %q of catalog %q, revision %s: %w", d.name, d.catalog, rev.digest, err)
	}
	if n < len(content) {
		rules = content[n:]
	}
	return content[:n:n], rules, nil
}

// packed is compressed content: the length as a uvarint, then DEFLATE. It has about a tenth of the length.
type packed []byte

var compressors = sync.Pool{New: func() any {
	w, err := flate.NewWriter(io.Discard, flate.DefaultCompression)
	if err != nil {
		panic(err) // NewWriter fails for unknown levels only
	}
	return w
}}

func pack(content []byte) packed {
	b := bytes.NewBuffer(binary.AppendUvarint(nil, uint64(len(content))))
	w := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(b)
	_, _ = w.Write(content) // a Buffer returns no errors
	_ = w.Close()
	return bytes.Clone(b.Bytes())
}

// maxContent bounds the allocation for a damaged length. It is far above the limits for manifests and rules.
const maxContent = 1 << 30

func (p packed) size() int {
	size, _ := binary.Uvarint(p)
	return int(min(size, maxContent))
}

func (p packed) unpack() ([]byte, error) {
	size, n := binary.Uvarint(p)
	if n <= 0 || size > maxContent {
		return nil, errors.New("a stored manifest has no length")
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(flate.NewReader(bytes.NewReader(p[n:])), content); err != nil {
		return nil, fmt.Errorf("decompressing a stored manifest: %w", err)
	}
	return content, nil
}
