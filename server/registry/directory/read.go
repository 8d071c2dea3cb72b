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
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/manifests"
)

// source is a file.
type source struct {
	path   string
	stamp  stamp
	waited time.Time         // since when it is skipped because it is being written; or zero
	digest [sha256.Size]byte // of its contents

	claims   []string // names of its CRDs, in their order; also earlier ones while a part of it is unreadable
	problem  string   // why it cannot be read, as logged; or empty
	faults   int      // unreadable and duplicate manifests
	rejected map[string]bool
}

// broken reports whether the file has errors.
func (s *source) broken() bool { return s.problem != "" || s.faults > 0 || len(s.rejected) > 0 }

// submission is a CRD to register.
type submission struct{ manifest manifests.Manifest }

// unreadable records and logs that a file cannot be read. Its CRDs stay.
func (l *Loader) unreadable(ctx context.Context, s *source, err error) {
	s.stamp = stamp{}
	if text := err.Error(); text != s.problem {
		s.problem = text
		l.log.ErrorContext(ctx, "a file of CRDs cannot be read; what was registered from it stays", "file", s.path, "error", err)
	}
}

// read reads a file with info.
func (l *Loader) read(ctx context.Context, s *source, info os.FileInfo) {
	at := l.now()
	content, err := l.contents(s.path)
	if err != nil {
		l.unreadable(ctx, s, err)
		return
	}
	same := s.stamp.info != nil && s.stamp.info.ModTime().Equal(info.ModTime())
	fixed := s.problem != ""
	s.stamp, s.problem = stamp{info, at}, ""
	digest := sha256.Sum256(content)
	// A new time of a rejected file with the same contents is a request to retry.
	if digest == s.digest && !fixed && (same || !s.broken()) {
		return
	}
	s.digest = digest
	l.take(ctx, s, content)
}

// contents reads a file of at most MaxFileBytes.
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
		return nil, fmt.Errorf("it is larger than %d bytes, the limit for one file: split it", l.o.MaxFileBytes)
	}
	return content, nil
}

// take makes the CRDs in a file pending.
func (l *Loader) take(ctx context.Context, s *source, content []byte) {
	l.forget(s)
	before := s.claims
	s.claims, s.faults, s.rejected = nil, 0, nil
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
	if unnamed { // it may be one of the earlier CRDs
		for _, name := range before {
			if !slices.Contains(s.claims, name) {
				s.claims = append(s.claims, name)
			}
		}
	}
}

// takeManifest makes a CRD pending. unnamed is true if the manifest may be a CRD with an unreadable name.
func (l *Loader) takeManifest(ctx context.Context, s *source, m manifests.Manifest) (unnamed bool) {
	apiVersion, kind, err := engine.TypeMetaOf(m.Document, engine.Limits{})
	if err != nil {
		text, line, column := m.Describe(err)
		l.fault(ctx, s, where(s.path, line, column), text)
		return true
	}
	if kind != manifests.CRDKind {
		l.log.DebugContext(ctx, "skipped a manifest that is not a CRD", "file", where(s.path, m.Line(), 0), "apiVersion", apiVersion, "kind", kind)
		return false
	}
	name := nameOf(m.Document)
	switch {
	case name == "":
		l.fault(ctx, s, where(s.path, m.Line(), 0), "the CRD has no valid metadata.name")
		return true
	case slices.Contains(s.claims, name):
		l.fault(ctx, s, where(s.path, m.Line(), 0), fmt.Sprintf("the CRD %s is already in this file: the first one wins", name))
		return false
	}
	s.claims = append(s.claims, name)
	l.pending[place{s.path, name}] = submission{m}
	return false
}

// forget drops the pending CRDs of a file.
func (l *Loader) forget(s *source) {
	for _, name := range s.claims {
		delete(l.pending, place{s.path, name})
	}
}

// again reads a file for one CRD, which belonged to another file until now.
func (l *Loader) again(ctx context.Context, s *source, name string) {
	content, err := l.contents(s.path)
	if err != nil || sha256.Sum256(content) != s.digest {
		l.touched[s.path] = true // the next scan reads it
		return
	}
	documents, err := manifests.Split(content)
	if err != nil {
		return // already logged
	}
	for _, d := range documents {
		for _, m := range d.Manifests() {
			if _, kind, err := engine.TypeMetaOf(m.Document, engine.Limits{}); err == nil && kind == manifests.CRDKind && nameOf(m.Document) == name {
				l.pending[place{s.path, name}] = submission{m}
				l.log.DebugContext(ctx, "this CRD belongs to another file now", "crd", name, "file", s.path)
				return
			}
		}
	}
}

// nameOf returns metadata.name, or "" if it is missing or invalid.
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

// fault records and logs an error in a file.
func (l *Loader) fault(ctx context.Context, s *source, at, text string) {
	s.faults++
	l.log.ErrorContext(ctx, "a manifest cannot be read; what was registered before stays", "file", at, "error", text)
}

// where formats a position in a file. line and column are 0 if they are unknown.
func where(path string, line, column int) string {
	switch {
	case line == 0:
		return path
	case column == 0:
		return fmt.Sprintf("%s:%d", path, line)
	}
	return fmt.Sprintf("%s:%d:%d", path, line, column)
}
