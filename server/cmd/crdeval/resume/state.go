// Package resume saves the progress of a migration of stored objects in a file, so that an interrupted run can be
// continued.
package resume

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/crdeval/crdeval/server/cmd/crdeval/atomicfile"
)

// State is the progress of a migration. It is saved in the file of --state after each page or batch and when the
// run ends.
type State struct {
	Format  int     `json:"format"`
	Subject Subject `json:"subject"`

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
	Failed   []Failure `json:"failed,omitempty"`

	Read     bool `json:"read,omitempty"`     // there are no further objects
	Finished bool `json:"finished,omitempty"` // and there is nothing else to do

	path string // "" without a file
}

// format changes when older programs cannot continue a run.
const format = 2

// Subject is what a run migrates. A run with another subject cannot continue it.
type Subject struct {
	Source  string `json:"source"` // the files, or the address of the cluster
	CRD     string `json:"crd,omitempty"`
	UID     string `json:"uid,omitempty"`     // of the CRD in a cluster
	Version string `json:"version,omitempty"` // the storage version of the CRD in a cluster
	Output  string `json:"output"`
}

// Failure is an object that cannot be migrated.
type Failure struct {
	Object string `json:"object"`
	Error  string `json:"error"`
}

// Load reads the state of a run that was interrupted. Without a file, or after a run that finished, it returns a new
// state.
func Load(path string, of Subject) (*State, error) {
	fresh := newState(path, of)
	if path == "" {
		return fresh, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, fresh.Save() // reports a directory that is not writable before anything is migrated
	} else if err != nil {
		return nil, fmt.Errorf("--state: %w", err)
	}
	st := &State{path: path}
	if err := json.Unmarshal(text, st); err != nil || st.Format == 0 {
		return nil, fmt.Errorf("--state: %s is not the state of a migration: use another file", path)
	}
	switch {
	case st.Format != format:
		return nil, fmt.Errorf("--state: %s has the format %d, and this version of crdeval reads only %d: remove it to start again",
			path, st.Format, format)
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

func newState(path string, of Subject) *State { return &State{Format: format, Subject: of, path: path} }

// Reset makes the run start again.
func (st *State) Reset() { *st = *newState(st.path, st.Subject) }

// difference describes a difference between the subjects of a state and of a run.
func (s Subject) difference(run Subject) string {
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
func (st *State) isDamaged() bool {
	if min(st.Documents, st.Migrated, st.Current, st.Deleted, st.Skipped) < 0 ||
		st.Finished && !st.Read || st.Read && st.Continue != "" {
		return true
	}
	if st.Subject.Version != "" { // of a cluster
		return st.Documents > 0 || st.Digest != "" || len(st.Done) > st.Count()
	}
	return st.Documents != st.Count() || (st.Documents > 0) != (st.Digest != "") || st.Continue != "" || len(st.Done) > 0
}

// Use records the revision of the CRD of an object that was read.
func (st *State) Use(crd, revision string) {
	if st.CRDs == nil {
		st.CRDs = map[string]string{}
	}
	st.CRDs[crd] = revision
}

// CheckRevisions returns an error if a CRD changed after its objects were migrated: the results would differ. has reports
// whether a CRD has a revision.
func (st *State) CheckRevisions(has func(crd, revision string) bool) error {
	for _, name := range slices.Sorted(maps.Keys(st.CRDs)) {
		if !has(name, st.CRDs[name]) {
			return fmt.Errorf("--state: the CRD %s or its conversion rules changed since the last run: remove %s to start again",
				name, st.path)
		}
	}
	return nil
}

// Save replaces the file. An interruption leaves the old or the new content.
func (st *State) Save() error {
	if st.path == "" {
		return nil
	}
	text, err := json.Marshal(st)
	if err == nil {
		err = atomicfile.Write(st.path, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("--state: %w", err)
	}
	return nil
}

// Count returns the number of objects that were read.
func (st *State) Count() int {
	return st.Migrated + st.Current + st.Deleted + st.Skipped + len(st.Failed)
}

// Fail records an error of an object.
func (st *State) Fail(object, text string) {
	st.Failed = append(st.Failed, Failure{object, text})
}
