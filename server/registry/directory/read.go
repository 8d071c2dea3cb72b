package directory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
	"github.com/crdeval/crdeval/server/manifests"
)

// source is a file.
type source struct {
	path   string
	stamp  stamp
	waited time.Time         // since when it is left alone because it is being written; zero: it is not
	digest [sha256.Size]byte // of its contents

	claims  []string // names of the CRDs in it, in its order; also those that it had before something in it could not be read
	problem string   // why it cannot be read, as it was told; empty: it can
	faults  int      // what in it cannot be read, or is there twice
	refused map[string]bool
}

// broken says whether there is something wrong with the file itself.
func (s *source) broken() bool { return s.problem != "" || s.faults > 0 || len(s.refused) > 0 }

// submission is a CRD of a file that has to be registered.
type submission struct{ manifest manifests.Manifest }

// unreadable notes that a file cannot be read. What it had before stays.
func (l *Loader) unreadable(ctx context.Context, s *source, err error) {
	s.stamp = stamp{}
	if text := err.Error(); text != s.problem {
		s.problem = text
		l.log.ErrorContext(ctx, "a file of CRDs cannot be read; what was registered from it stays", "file", s.path, "error", err)
	}
}

// read reads a file that looks like info.
func (l *Loader) read(ctx context.Context, s *source, info os.FileInfo) {
	at := l.now()
	content, err := l.contents(s.path)
	if err != nil {
		l.unreadable(ctx, s, err)
		return
	}
	same := s.stamp.info != nil && s.stamp.info.ModTime().Equal(info.ModTime())
	mended := s.problem != ""
	s.stamp, s.problem = stamp{info, at}, ""
	digest := sha256.Sum256(content)
	// Who touches a file that was refused wants it tried again.
	if digest == s.digest && !mended && (same || !s.broken()) {
		return
	}
	s.digest = digest
	l.take(ctx, s, content)
}

// contents reads a file within the bound.
func (l *Loader) contents(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, l.o.MaxFileBytes+1))
	_ = f.Close() // it was only read
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > l.o.MaxFileBytes {
		return nil, fmt.Errorf("it has more than %d bytes, which is the limit for one file: split it", l.o.MaxFileBytes)
	}
	return content, nil
}

// take makes submissions of a file's contents.
func (l *Loader) take(ctx context.Context, s *source, content []byte) {
	l.forget(s)
	before := s.claims
	s.claims, s.faults, s.refused = nil, 0, nil
	documents, err := manifests.Split(content)
	if err != nil {
		l.fault(ctx, s, s.path, err.Error())
		s.claims = before
		return
	}
	unnamed := false
	for _, d := range documents {
		for _, m := range d.Manifests() {
			unnamed = l.takeManifest(ctx, s, m) || unnamed
		}
	}
	if unnamed { // it may be one of those that were there
		for _, name := range before {
			if !slices.Contains(s.claims, name) {
				s.claims = append(s.claims, name)
			}
		}
	}
}

// takeManifest makes a submission of one. unnamed is true if it may be a CRD whose name cannot be read.
func (l *Loader) takeManifest(ctx context.Context, s *source, m manifests.Manifest) (unnamed bool) {
	apiVersion, kind, err := engine.TypeMetaOf(m.Document, engine.Limits{})
	if err != nil {
		text, line, column := m.Describe(err)
		l.fault(ctx, s, where(s.path, line, column), text)
		return true
	}
	if kind != manifests.CRDKind {
		l.log.DebugContext(ctx, "passed over what is no CRD", "file", where(s.path, m.Line(), 0), "apiVersion", apiVersion, "kind", kind)
		return false
	}
	name := nameOf(m.Document)
	switch {
	case name == "":
		l.fault(ctx, s, where(s.path, m.Line(), 0), "the CRD has no metadata.name that can be read")
		return true
	case slices.Contains(s.claims, name):
		l.fault(ctx, s, where(s.path, m.Line(), 0), fmt.Sprintf("the CRD %s is in this file already: the first one counts", name))
		return false
	}
	s.claims = append(s.claims, name)
	l.pending[place{s.path, name}] = submission{m}
	return false
}

// forget drops what waits to be registered from a file.
func (l *Loader) forget(s *source) {
	for _, name := range s.claims {
		delete(l.pending, place{s.path, name})
	}
}

// again reads a file for a CRD that it has and that another file had until now. What else is in it is settled.
func (l *Loader) again(ctx context.Context, s *source, name string) {
	content, err := l.contents(s.path)
	if err != nil || sha256.Sum256(content) != s.digest {
		l.touched[s.path] = true // it is changing: the next scan reads it
		return
	}
	documents, err := manifests.Split(content)
	if err != nil {
		return // it was told when the file was read
	}
	for _, d := range documents {
		for _, m := range d.Manifests() {
			if _, kind, err := engine.TypeMetaOf(m.Document, engine.Limits{}); err == nil && kind == manifests.CRDKind && nameOf(m.Document) == name {
				l.pending[place{s.path, name}] = submission{m}
				l.log.DebugContext(ctx, "another file has this CRD now", "crd", name, "file", s.path)
				return
			}
		}
	}
}

// nameOf is a manifest's metadata.name, "" if it has none that can be read.
func nameOf(d engine.Document) string {
	text := d.JSON
	if text == nil {
		var err error
		if text, _, err = value.YAMLToJSON(d.YAML, value.Limits{}); err != nil {
			return ""
		}
	}
	var o struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}
	if json.Unmarshal(bytes.TrimSpace(text), &o) != nil {
		return ""
	}
	return o.Metadata.Name
}

// fault notes and tells that something in a file is wrong.
func (l *Loader) fault(ctx context.Context, s *source, at, text string) {
	s.faults++
	l.log.ErrorContext(ctx, "a manifest cannot be read; what was registered before stays", "file", at, "error", text)
}

// where is a place in a file, as editors and compilers write it; line and column are 0 where they are not known.
func where(path string, line, column int) string {
	switch {
	case line == 0:
		return path
	case column == 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}
