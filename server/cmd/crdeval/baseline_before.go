package main

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
	manifests  map[key][]*workspace.Manifest
	unreadable *workspace.Manifest // the first document that cannot be read, or nil
}

func (b *baseline) oldFile(f *workspace.File, link bool) *oldFile {
	old := &oldFile{File: f, link: link, manifests: map[key][]*workspace.Manifest{}}
	for _, m := range f.Manifests {
		if k := b.key(m); k.name != "" {
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
func (b *baseline) locate(file string) location {
	return location{path.Join(b.realPath(path.Dir(file)), path.Base(file)), b.realPath(file)}
}

// realPath returns a Source.Path without symbolic links. A link that leads nowhere stays as it is.
func (b *baseline) realPath(file string) string {
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

// isChanged reports whether a file changed, or the file to which it leads as a symbolic link. All files of a changed
// submodule count as new: git does not have the old ones.
func (b *baseline) isChanged(file string) bool {
	at := b.locate(file)
	return b.differs(at.path) || b.differs(at.real)
}

// differs is isChanged for a path in git.
func (b *baseline) differs(file string) bool {
	for ; file != "." && file != "/"; file = path.Dir(file) {
		if b.changed[file] {
			return true
		}
	}
	return false
}

// evaluates reports whether the objects of a file are evaluated.
func (b *baseline) evaluates(f *workspace.File) bool { return b == nil || b.all || b.isChanged(f.Path) }

// addChanged notes the CRDs and conversion rules of a file that changed.
func (b *baseline) addChanged(f *workspace.File) {
	b.all = b.all || definesKinds(f) && b.isChanged(f.Path)
}

// note notes what a file has now.
func (b *baseline) note(f *workspace.File) {
	if f.Err != nil || f.Skip.Kind != "" || !b.isChanged(f.Path) {
		return
	}
	keys := map[key]int{}
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
func (b *baseline) key(m *workspace.Manifest) key {
	switch crd := m.AsCRD(); {
	case crd == nil:
		return b.command.key(&m.Identity)
	case crd.IsFragment():
		return key{}
	}
	return key{group: apiextensionsv1.GroupName, kind: workspace.CRDKind, name: m.Name}
}

// before returns an object or a CRD before the changes, nil if it is new: the one in the same file, or else in the file
// that git reports as the source of a rename, or else the one that is no longer in its file, if there is exactly one.
// Without one, unreadable is a document that may have been the object.
func (b *baseline) before(m *workspace.Manifest) (old, unreadable *workspace.Manifest) {
	k, at := b.key(m), b.locate(m.Path())
	if k.name == "" {
		return nil, nil
	}
	if !b.isChanged(m.Path()) {
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
func (b *baseline) findGone() {
	b.gone = map[key]*workspace.Manifest{}
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
func (b *baseline) addLinked() {
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		to := b.realPath(file)
		if to != file && !b.files[file].link && b.differs(to) && b.files[to] == nil && b.sources[to] == "" {
			b.sources[to] = file
		}
	}
}

// compileOptions returns the options for a CRD: it is an update if it existed before.
func (b *baseline) compileOptions(c *workspace.CRD, o engine.Options) engine.Options {
	before, _ := b.before(c.Manifest)
	if before == nil {
		return o
	}
	if _, existing, err := kubeserver.ExistingFrom(before.Document, engine.Limits{}); err == nil {
		o.Existing = func(string) *engine.Existing { return existing }
	}
	return o
}

// deleted returns the files with CRDs that were deleted.
func (b *baseline) deleted() (files []*workspace.File) {
	for _, file := range slices.Sorted(maps.Keys(b.files)) {
		if len(b.files[file].CRDs) > 0 && !b.isChanged(file) {
			files = append(files, b.files[file].File)
		}
	}
	return files
}
