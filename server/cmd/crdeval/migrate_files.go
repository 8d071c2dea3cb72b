package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/atomicfile"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/resume"
)

// migrateFiles migrates the documents of files, directories or stdin.
func (m *migration) migrateFiles(ctx context.Context, crds, rules []*workspace.Manifest) error {
	closeService, err := m.connect(ctx, crds, rules)
	if err != nil {
		return err
	}
	defer closeService()
	st, err := resume.Load(m.State, resume.Subject{Source: strings.Join(m.Files, " "), CRD: m.CRD, Output: m.Out})
	if err != nil {
		return err
	}
	if err := st.CheckRevisions(m.hasRevision); err != nil {
		return err
	}
	m.state = st
	if !st.Read {
		if err := m.readFiles(ctx); err != nil {
			return err
		}
		if st.Count() == st.Skipped && !m.AllowEmpty {
			m.state = nil // there is no run to continue
			return errNothing("no object")
		}
		if st.Read = true; m.Write { // the next steps can fail
			err = st.Save()
		}
	}
	if err == nil && m.Write && len(st.Failed) == 0 {
		for _, s := range m.kinds { // only that of --crd
			if err := m.v.setStoredVersion(ctx, s.crd, s.version); err != nil {
				return err
			}
			fmt.Fprintf(m.env.stderr, "stored versions of %s: %s\n", s.crd, s.version)
		}
	}
	if err == nil {
		st.Finished = true
		err = st.Save()
	}
	return err
}

// readFiles migrates the documents that the state does not have.
func (m *migration) readFiles(ctx context.Context) error {
	st, n := m.state, 0
	var batch []*workspace.Manifest
	for s, err := range m.env.files(m.Recursive).Documents(ctx, m.Files...) {
		switch {
		case err != nil:
			return errors.Join(m.migrateBatch(ctx, batch), err)
		case s.Conversion, s.AsCRD() != nil:
			continue
		}
		if n++; n <= st.Documents {
			if n == st.Documents && digest(s) != st.Digest {
				return fmt.Errorf("the files have changed since the last run: %s is not the object that it migrated last", where(s))
			}
			_ = m.reserve(s)
			continue
		}
		if batch = append(batch, s); len(batch) == maxBatch {
			if err := m.migrateBatch(ctx, batch); err != nil {
				return err
			}
			batch = batch[:0]
		}
	}
	if n < st.Documents {
		return fmt.Errorf("the files have changed since the last run: they have %s, and it migrated %d",
			counted(n, "document"), st.Documents)
	}
	return m.migrateBatch(ctx, batch)
}

// migrateBatch converts documents, writes the results and saves the state.
func (m *migration) migrateBatch(ctx context.Context, batch []*workspace.Manifest) error {
	if len(batch) == 0 {
		return nil
	}
	if ctx.Err() != nil {
		return input.ErrInterrupted
	}
	if err := m.convertAndWrite(ctx, batch); err != nil {
		return err
	}
	m.state.Documents += len(batch)
	m.state.Digest = digest(batch[len(batch)-1])
	m.progress()
	return m.state.Save()
}

// convertAndWrite converts objects, writes the results and counts them.
func (m *migration) convertAndWrite(ctx context.Context, batch []*workspace.Manifest) error {
	results, err := m.convert(ctx, batch)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	for _, r := range results {
		reserved := m.reserve(r.Manifest)
		if r.object != nil && m.Out != "" {
			if r.err = reserved; r.err == nil {
				r.err = writeObject(m.Out, r)
			}
		} else if r.object != nil {
			if err := json.Compact(&lines, r.object); err != nil {
				return fmt.Errorf("%s: %w", where(r.Manifest), err)
			}
			lines.WriteByte('\n')
		}
	}
	if _, err := m.env.stdout.Write(lines.Bytes()); err != nil {
		return err
	}
	for _, r := range results {
		to, known := m.kinds[kindOf(r.Manifest)]
		if known {
			m.state.Use(to.crd, to.revision)
		}
		switch {
		case r.err != nil && r.skipped && m.SkipOtherKinds:
			m.state.Skipped++
		case r.err != nil:
			at, text := m.locate(r)
			m.state.Fail(at, text)
		case workspace.VersionOf(r.APIVersion) == to.version && !m.inCluster():
			m.state.Current++
		default:
			m.state.Migrated++
		}
	}
	return nil
}

// locate returns the name of an object in messages, and the text of its error.
func (m *migration) locate(r *conversion) (at, text string) {
	if m.inCluster() {
		return titleOf(r.Manifest), r.err.Error()
	}
	return fmt.Sprintf("%s: %s", failurePlace(r.Manifest, r.err), titleOf(r.Manifest)), r.err.Error()
}

// reserve reserves the path of an object of files. It returns an error if an earlier object has the same path. A
// continued run also reserves the paths of the objects that it skips.
func (m *migration) reserve(s *workspace.Manifest) error {
	if m.Out == "" || m.inCluster() || s.Name == "" {
		return nil
	}
	path := strings.Join(pathOf(s), "/")
	sum := sha256.Sum256([]byte(path))
	key := [16]byte(sum[:])
	if _, taken := m.paths[key]; taken {
		return fmt.Errorf("an earlier object has the same file name %s", path)
	}
	m.paths[key] = struct{}{}
	return nil
}

// pathOf returns the segments of the path of an object below --out: KIND.GROUP/[NAMESPACE/]NAME.json.
func pathOf(s *workspace.Manifest) []string {
	id := &s.Identity
	parts := []string{id.Kind + "." + workspace.GroupOf(id.APIVersion), id.Namespace, id.Name + ".json"}
	return slices.DeleteFunc(parts, func(part string) bool { return part == "" })
}

// writeObject writes an object to a directory. Writing it again replaces the file.
func writeObject(dir string, r *conversion) error {
	parts := pathOf(r.Manifest)
	if r.Name == "" {
		return errors.New("it has no metadata.name for the name of its file")
	}
	for _, part := range parts {
		if !filepath.IsLocal(part) || strings.ContainsAny(part, `/\`) {
			return fmt.Errorf("%q cannot be the name of a file", part)
		}
	}
	path := filepath.Join(append([]string{dir}, parts...)...)
	var b bytes.Buffer
	err := json.Compact(&b, r.object)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o750)
	}
	if err == nil {
		err = atomicfile.Write(path, append(b.Bytes(), '\n'))
	}
	return err
}

// digest identifies a document.
func digest(s *workspace.Manifest) string { return digestOf(s.Document.JSON, s.Document.YAML) }

// digestOf returns the digest of the concatenated parts.
func digestOf(parts ...[]byte) string {
	sum := sha256.Sum256(slices.Concat(parts...))
	return hex.EncodeToString(sum[:])
}
