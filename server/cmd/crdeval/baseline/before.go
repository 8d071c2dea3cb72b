package baseline

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cmp"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// oldFile is a file of the commit that changed.
type oldFile struct {
	*workspace.File
	link       bool // it was a symbolic link
	manifests  map[Key][]*workspace.Manifest
	unreadable *workspace.Manifest // the first document that cannot be read, or nil
}

func (b *Changes) oldFile(f *workspace.File, link bool) *oldFile {
	old := &oldFile{File: f, link: link, manifests: map[Key][]*workspace.Manifest{}}
	for _, m := range f.Manifests {
		if k := b.key(m); k.Name != "" {
			old.manifests[k] = append(old.manifests[k], m)
		} else if m.Err != nil {
			old.unreadable = cmp.Or(old.unreadable, m)
		}
	}
	return old
}

// location is where a manifest is in the repository.
type location struct {
	path string // of the file in git
	real string // the same, unless the file is a symbolic link: then of the file to which it leads
}

// locate returns the location of a file by its Source.Path, which can have links to folders.
func (b *Changes) locate(file string) location {
	return location{path.Join(b.realPath(path.Dir(file)), path.Base(file)), b.realPath(file)}
}

// realPath returns a Source.Path without symbolic links. A link that leads nowhere stays as it is.
func (b *Changes) realPath(file string) string {
	if real, ok := b.real.Load(file); ok {
		return real.(string) //nolint:forcetypeassert // nothing else is stored
	}
	real := file
	if folder := path.Dir(file); folder != file {
		real = path.Join(b.realPath(folder), path.Base(file))
	}
	if info, err := os.Lstat(repository.NameOf(real)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if name, err := filepath.EvalSymlinks(repository.NameOf(real)); err == nil {
			real = repository.PathOf(name)
		}
	}
	b.real.Store(file, real)
	return real
}

// IsChanged reports whether a file changed, or the file to which it leads as a symbolic link. All files of a changed
// submodule count as new: git does not have the old ones.
func (b *Changes) IsChanged(file string) bool {
	at := b.locate(file)
	return b.differs(at.path) || b.differs(at.real)
}

// differs is IsChanged for a path in git.
func (b *Changes) differs(file string) bool {
	for ; file != "." && file != "/"; file = path.Dir(file) {
		if b.changed[file] {
			return true
		}
	}
	return false
}

// Evaluates reports whether the objects of a file are evaluated.
func (b *Changes) Evaluates(f *workspace.File) bool { return b == nil || b.all || b.IsChanged(f.Path) }

// AddChanged notes the CRDs and conversion rules of a file that changed.
func (b *Changes) AddChanged(f *workspace.File) {
	b.all = b.all || definesKinds(f) && b.IsChanged(f.Path)
}

// Note notes what a file has now.
func (b *Changes) Note(f *workspace.File) {
	if f.Err != nil || f.Skip.Kind != "" || !b.IsChanged(f.Path) {
		return
	}
	keys := map[Key]int{}
	for _, m := range f.Manifests {
		k := b.key(m)
		if keys[k] > 0 {
			b.nth[m] = keys[k]
		}
		keys[k]++
	}
	b.now[b.locate(f.Path).path] = keys
}

// key returns the identity of an object or a CRD. Its name is "" for other manifests, such as fragments of CRDs.
func (b *Changes) key(m *workspace.Manifest) Key {
	switch crd := m.AsCRD(); {
	case crd == nil:
		return KeyOf(&m.Identity, b.namespace)
	case crd.IsFragment():
		return Key{}
	}
	return Key{Group: apiextensionsv1.GroupName, Kind: workspace.CRDKind, Name: m.Name}
}

// Before returns an object or a CRD before the changes, nil if it is new: the one in the same file, or else in the file
// that git reports as the source of a rename, or else the one that is no longer in its file, if there is exactly one.
// Without one, unreadable is a document that may have been the object.
func (b *Changes) Before(m *workspace.Manifest) (old, unreadable *workspace.Manifest) {
	k, at := b.key(m), b.locate(m.Path())
	if k.Name == "" {
		return nil, nil
	}
	if !b.IsChanged(m.Path()) {
		return m, nil
	}
	for _, file := range []string{at.path, at.real, b.sources[at.path], b.sources[at.real]} {
		switch f := b.files[file]; {
		case f != nil:
			if n := b.nth[m]; n < len(f.manifests[k]) { // if several have the key, they correspond in their order
				return f.manifests[k][n], nil
			}
			unreadable = cmp.Or(unreadable, f.unreadable)
		case file == at.real && !b.differs(file): // a new link to a file that did not change
			return m, nil
		}
	}
	b.index.Do(b.findGone)
	if old = b.gone[k]; old != nil {
		return old, nil
	}
	return nil, unreadable
}

// findGone finds the objects and CRDs that are no longer in their files, nor in the files to which these were renamed.
func (b *Changes) findGone() {
	b.gone = map[Key]*workspace.Manifest{}
	renamed := map[string]string{}
	for now, file := range b.sources {
		renamed[file] = now
	}
	for file, f := range b.files {
		now := cmp.Or(renamed[file], file)
		keys, read := b.now[now]
		if f.link || !read && b.differs(now) { // what a file has that is not read is not known
			continue
		}
		for k, list := range f.manifests {
			if keys[k] > 0 {
				continue
			}
			if _, several := b.gone[k]; several || len(list) > 1 {
				b.gone[k] = nil
			} else {
				b.gone[k] = list[0]
			}
		}
	}
}

// addLinked notes the files that are symbolic links now: a new file to which one leads is the same file.
func (b *Changes) addLinked() {
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		to := b.realPath(file)
		if to != file && !b.files[file].link && b.differs(to) && b.files[to] == nil && b.sources[to] == "" {
			b.sources[to] = file
		}
	}
}

// CompileOptions returns the options for a CRD: it is an update if it existed before.
func (b *Changes) CompileOptions(c *workspace.CRD, o engine.Options) engine.Options {
	before, _ := b.Before(c.Manifest)
	if before == nil {
		return o
	}
	if _, existing, err := kubeserver.ExistingFrom(before.Document, engine.Limits{}); err == nil {
		o.Existing = func(string) *engine.Existing { return existing }
	}
	return o
}

// Deleted returns the files with CRDs that were deleted.
func (b *Changes) Deleted() (files []*workspace.File) {
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		if len(b.files[file].CRDs) > 0 && !b.IsChanged(file) {
			files = append(files, b.files[file].File)
		}
	}
	return files
}
