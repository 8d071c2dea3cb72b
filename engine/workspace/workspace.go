package workspace

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
)

// Workspace has the CRDs of files, and chooses those that apply to an object. Its methods can be called concurrently.
// The zero Workspace is empty.
type Workspace struct {
	// Options compile the CRDs. They must not change while the Workspace is used.
	Options engine.Options
	// Compiler compiles CRDs, instead of CRD.Compile with Options. It may be nil.
	Compiler func(ctx context.Context, c *CRD) *Compiled

	mu    sync.Mutex
	files map[string]*File // with CRDs, by key
	kinds map[schema.GroupKind][]*CRD
}

// Set adds a file, or replaces the one with its path, or without a path with its name. A file that was Given stays so. It
// reports whether the CRDs of the workspace changed. CRDs with the same text as before stay compiled.
func (w *Workspace) Set(f *File) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var old []*CRD
	if before := w.files[f.key()]; before != nil {
		old, f.Given = before.CRDs, f.Given || before.Given
	}
	changed = len(old) != len(f.CRDs)
	for i, c := range f.CRDs {
		text := string(c.text())
		j := slices.IndexFunc(old, func(o *CRD) bool { return string(o.text()) == text })
		if j < 0 {
			changed = true
			continue
		}
		changed = changed || i != j
		if o := old[j]; o.mu.TryLock() { // else it is being compiled
			c.compiled = o.compiled
			o.mu.Unlock()
		}
	}
	if len(old)+len(f.CRDs) == 0 {
		return false
	}
	if w.files == nil {
		w.files = map[string]*File{}
	}
	w.kinds, w.files[f.key()] = nil, f
	if len(f.CRDs) == 0 {
		delete(w.files, f.key())
	}
	return changed
}

// Remove removes the file of a source. It reports whether the CRDs of the workspace changed.
func (w *Workspace) Remove(s Source) (changed bool) { return w.Set(&File{Source: s}) }

// Files returns the files with CRDs, by path or name.
func (w *Workspace) Files() (files []*File) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range slices.Sorted(maps.Keys(w.files)) {
		files = append(files, w.files[key])
	}
	return files
}

// CRDs returns the CRDs, without fragments, by group and kind. Those of a kind are in the order of precedence without
// regard to an object.
func (w *Workspace) CRDs() (all []*CRD) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index()
	keys := slices.SortedFunc(maps.Keys(w.kinds), func(a, b schema.GroupKind) int {
		return strings.Compare(a.Group+" "+a.Kind, b.Group+" "+b.Kind)
	})
	for _, key := range keys {
		all = append(all, w.kinds[key]...)
	}
	return all
}

// index makes kinds. The caller holds the lock.
func (w *Workspace) index() {
	if w.kinds != nil {
		return
	}
	w.kinds = map[schema.GroupKind][]*CRD{}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		for _, c := range w.files[name].CRDs {
			if !c.IsFragment() {
				key := schema.GroupKind{Group: c.Group, Kind: c.ObjectKind}
				w.kinds[key] = append(w.kinds[key], c)
			}
		}
	}
	for _, list := range w.kinds {
		slices.SortStableFunc(list, func(a, b *CRD) int {
			switch {
			case a.In.Given == b.In.Given:
				return 0
			case a.In.Given:
				return -1
			}
			return 1
		})
	}
}

// Compile compiles a CRD once. If the context ends first, the result has its error, and a later call tries again.
func (w *Workspace) Compile(ctx context.Context, c *CRD) *Compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.compiled != nil {
		return c.compiled
	}
	var done *Compiled
	if w.Compiler != nil {
		done = w.Compiler(ctx, c)
	} else {
		done = c.Compile(ctx, w.Options)
	}
	if ctx.Err() == nil {
		c.compiled = done
	}
	return done
}
