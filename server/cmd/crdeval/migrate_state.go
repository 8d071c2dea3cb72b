package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// migrateState is the progress of a migration. It is saved in the file of --state after each page or batch and when the
// run ends.
type migrateState struct {
	Format  int              `json:"format"` // stateFormat
	Subject migrationSubject `json:"subject"`

	// Of files: the number of documents that were read, and the digest of the last one.
	Documents int    `json:"documents,omitempty"`
	Digest    string `json:"digest,omitempty"`
	// Of a cluster: the token of the current page, and the names of its objects that are done.
	Continue string   `json:"continue,omitempty"`
	Done     []string `json:"done,omitempty"`

	// The revisions of the CRDs whose objects were read, by name. Writes in a cluster do not need them.
	CRDs map[string]string `json:"crds,omitempty"`

	Migrated int       `json:"migrated"`
	Current  int       `json:"current,omitempty"` // had the storage version
	Deleted  int       `json:"deleted,omitempty"`
	Skipped  int       `json:"skipped,omitempty"` // other kinds
	Failed   []failure `json:"failed,omitempty"`

	Read     bool `json:"read,omitempty"`     // there are no further objects
	Finished bool `json:"finished,omitempty"` // and there is nothing else to do

	path string // "" without a file
}

// stateFormat changes when older programs cannot continue a run.
const stateFormat = 2

// migrationSubject is what a run migrates. A run with another subject cannot continue it.
type migrationSubject struct {
	Source  string `json:"source"` // the files, or the address of the cluster
	CRD     string `json:"crd,omitempty"`
	UID     string `json:"uid,omitempty"`     // of the CRD in a cluster
	Version string `json:"version,omitempty"` // the storage version of the CRD in a cluster
	Output  string `json:"output"`
}

// failure is an object that cannot be migrated.
type failure struct {
	Object string `json:"object"`
	Error  string `json:"error"`
}

// loadState reads the state of a run that was interrupted. Without a file, or after a run that finished, it returns a new
// state.
func loadState(path string, of migrationSubject) (*migrateState, error) {
	fresh := &migrateState{Format: stateFormat, Subject: of, path: path}
	if path == "" {
		return fresh, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, fresh.save() // reports a directory that is not writable before anything is migrated
	} else if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	st := &migrateState{path: path}
	if err := json.Unmarshal(text, st); err != nil || st.Format == 0 {
		return nil, fmt.Errorf("--state: %s is not the state of a migration: use another file", path)
	}
	switch {
	case st.Format != stateFormat:
		return nil, fmt.Errorf("--state: %s has the format %d, and this version of crdeval reads only %d: remove it to start again",
			path, st.Format, stateFormat)
	case st.isDamaged():
		return nil, fmt.Errorf("--state: %s is damaged: remove it to start again", path)
	case st.Subject != of:
		return nil, fmt.Errorf("--state: %s is the state of another migration (%s): use another file, or remove it to start again",
			path, st.Subject.difference(of))
	case st.Finished:
		return fresh, nil
	}
	return st, nil
}

// difference describes a difference between the subjects of a state and of a run.
func (s migrationSubject) difference(run migrationSubject) string {
	for _, f := range [...][3]string{
		{"the files or the cluster", s.Source, run.Source}, {"the CRD", s.CRD, run.CRD}, {"the uid of the CRD", s.UID, run.UID},
		{"the storage version", s.Version, run.Version}, {"the output", s.Output, run.Output},
	} {
		if f[1] != f[2] {
			return fmt.Sprintf("%s: %q, now %q", f[0], f[1], f[2])
		}
	}
	return ""
}

// isDamaged reports whether no run can have saved the state.
func (st *migrateState) isDamaged() bool {
	if min(st.Documents, st.Migrated, st.Current, st.Deleted, st.Skipped) < 0 ||
		st.Finished && !st.Read || st.Read && st.Continue != "" {
		return true
	}
	if st.Subject.Version != "" { // of a cluster
		return st.Documents > 0 || st.Digest != "" || len(st.Done) > st.count()
	}
	return st.Documents != st.count() || (st.Documents > 0) != (st.Digest != "") || st.Continue != "" || len(st.Done) > 0
}

// use records the CRD of an object that was read.
func (st *migrateState) use(of storage) {
	if st.CRDs == nil {
		st.CRDs = map[string]string{}
	}
	st.CRDs[of.crd] = of.revision
}

// checkRevisions returns an error if a CRD changed after its objects were migrated: the results would differ.
func (st *migrateState) checkRevisions(kinds map[groupKind]storage) error {
	current := slices.Collect(maps.Values(kinds))
	for _, name := range slices.Sorted(maps.Keys(st.CRDs)) {
		if !slices.ContainsFunc(current, func(of storage) bool { return of.crd == name && of.revision == st.CRDs[name] }) {
			return fmt.Errorf("--state: the CRD %s or its conversion rules changed since the last run: remove %s to start again",
				name, st.path)
		}
	}
	return nil
}

// save replaces the file. An interruption leaves the old or the new content.
func (st *migrateState) save() error {
	if st.path == "" {
		return nil
	}
	text, err := json.Marshal(st)
	if err == nil {
		err = replaceFile(st.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}

// count returns the number of objects that were read.
func (st *migrateState) count() int {
	return st.Migrated + st.Current + st.Deleted + st.Skipped + len(st.Failed)
}

// fail records an error of an object.
func (st *migrateState) fail(object, text string) {
	st.Failed = append(st.Failed, failure{object, text})
}

// replaceFile writes a file so that other processes, and a start after a crash, see the old or the new content.
func replaceFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".crdeval-*")
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", path, e.Err)
	}
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
