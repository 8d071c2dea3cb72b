package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/baseline"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// write is a create, update or patch request for an object.
type write struct {
	*workspace.Manifest
	apiVersion, kind string              // of the object; the manifest may be a Scale
	old              *workspace.Manifest // the existing object of an update; the manifest itself for a patch
	patch            *engine.Patch       // without the old object, nil without a patch
	warnings         []engine.Warning    // of crdeval about the request
	err              error               // why there is no request
}

// writer makes the requests of a run.
type writer struct {
	command  *admitCommand
	existing map[baseline.Key][]*workspace.Manifest // the objects of --old
	base     *baseline.Changes                      // nil without --base
	patch    *engine.Patch                          // without the old object, nil without a patch

	old        []*workspace.Manifest     // the objects of --old, in their order
	unreadable []*workspace.Manifest     // documents of --old
	updated    map[baseline.Key]bool     // the objects of --old that writes are about
	created    map[schema.GroupKind]bool // the kinds of writes without an old object
}

// newWriter reads the objects of --old and the patch. It ignores objects without a name.
func newWriter(ctx context.Context, c *admitCommand, files input.Reader) (*writer, error) {
	w := &writer{command: c, existing: map[baseline.Key][]*workspace.Manifest{},
		updated: map[baseline.Key]bool{}, created: map[schema.GroupKind]bool{}}
	list, err := input.Manifests(files.Files(ctx, c.Old...))
	if err != nil {
		return nil, err
	}
	for _, m := range list {
		switch lookup := w.lookupKey(&m.Identity); {
		case lookup.Name != "" && m.AsCRD() == nil:
			w.existing[lookup], w.old = append(w.existing[lookup], m), append(w.old, m)
		case m.Err != nil:
			w.unreadable = append(w.unreadable, m)
		}
	}
	if !c.patching() {
		return w, nil
	}
	text := []byte(c.Patch)
	if c.PatchFile != "" {
		if text, err = files.ReadFile(ctx, c.PatchFile); err != nil {
			return nil, fmt.Errorf("--patch-file: %s: %w", c.PatchFile, err)
		}
	}
	if len(workspace.Parse(workspace.Source{}, text, 0).Manifests) == 0 {
		return nil, fmt.Errorf("%s: the patch is empty", cmp.Or(c.PatchFile, "--patch"))
	}
	w.patch = &engine.Patch{Type: patchTypes[c.Type], Body: engine.YAML(text)}
	return w, nil
}

// patchTypes are the values of --type.
var patchTypes = map[string]engine.PatchType{"merge": engine.MergePatch, "json": engine.JSONPatch}

// write returns the request for a document.
func (w *writer) write(m *workspace.Manifest) *write {
	out := &write{Manifest: m, apiVersion: m.APIVersion, kind: m.Kind, patch: w.patch}
	if w.patch != nil {
		out.old = m
		return out
	}
	if w.base != nil {
		var unreadable *workspace.Manifest
		if out.old, unreadable = w.base.Before(m); unreadable != nil {
			out.create(unreadable, unreadable.Err)
		}
		return out
	}
	scale := w.command.Subresource == "scale"
	key := w.lookupKey(&m.Identity)
	old := w.existing[key]
	if w.updated[key] = len(old) > 0; len(old) == 0 && m.Name != "" {
		w.created[kindOf(m)] = true
	}
	if len(old) > 1 && !scale {
		if old = sameFile(old, m); len(old) != 1 {
			out.err = fmt.Errorf("duplicate object: %s is in several files of --old, but not in exactly one whose path ends with %s",
				titleOf(m), m.File)
			return out
		}
	}
	switch {
	case len(old) > 1:
		out.err = fmt.Errorf("the Scale of %s may belong to %s or to %s: use separate runs with --old",
			m.Name, where(old[0]), where(old[1]))
	case len(old) == 1:
		out.old, out.apiVersion, out.kind = old[0], old[0].APIVersion, old[0].Kind
		if !scale {
			out.apiVersion = m.APIVersion // the write may use another version
		}
	case w.command.Subresource != "":
		out.err = fmt.Errorf("--old has no object of its kind, namespace and name, so there is no %s to update", w.command.Subresource)
	}
	return out
}

// unmatched returns the objects of --old that no write is about, if an object of their kind is created. One of the names
// is probably wrong.
func (w *writer) unmatched() (list []*workspace.Manifest) {
	for _, m := range w.old {
		if w.created[kindOf(m)] && !w.updated[w.lookupKey(&m.Identity)] {
			list = append(list, m)
		}
	}
	return list
}

// maxUnmatched bounds the warnings about objects of --old that no write is about.
const maxUnmatched = 5

// warn prints warnings about the objects of --old.
func (w *writer) warn(out io.Writer) {
	for _, m := range w.unreadable {
		fmt.Fprintf(out, "warning: %s: --old: the document cannot be read, so writes of its objects are creations: %s\n",
			failurePlace(m, m.Err), terminal.OneLine(m.Err.Error()))
	}
	if len(w.command.Old) > 0 && len(w.old) == 0 {
		fmt.Fprintf(out, "warning: --old %s has no object with a name: all writes are creations\n",
			terminal.OneLine(strings.Join(w.command.Old, ", ")))
	}
	list := w.unmatched()
	for _, m := range list[:min(len(list), maxUnmatched)] {
		fmt.Fprintf(out, "warning: %s: --old: no object of the files has the kind, namespace and name of %s, "+
			"and another %s is created\n", errorPlace(m, m.Line(), 0), titleOf(m), terminal.OneLine(m.Kind))
	}
	if more := len(list) - maxUnmatched; more > 0 {
		fmt.Fprintf(out, "warning: --old: the same applies to %d more\n", more)
	}
}

// create makes the write a creation, with a warning why the old object, or the document that may be it, cannot be used.
func (w *write) create(old *workspace.Manifest, err error) {
	w.old = nil
	place := failurePlace(old, err)
	w.warnings = append(w.warnings, engine.Warning{Type: engine.TypeNotice, Text: fmt.Sprintf(
		"the object is checked as a creation, because its old version in %s cannot be used: %s", place, err)})
}

// sameFile returns the manifests in files whose path ends with the path of the file of m.
func sameFile(list []*workspace.Manifest, m *workspace.Manifest) (same []*workspace.Manifest) {
	suffix := "/" + filepath.ToSlash(filepath.Clean(m.File))
	for _, old := range list {
		if strings.HasSuffix(filepath.ToSlash(filepath.Clean(old.File)), suffix) {
			same = append(same, old)
		}
	}
	return same
}

// lookupKey returns the key by which a write finds its existing object. A Scale has only its namespace and name.
func (w *writer) lookupKey(id *workspace.Identity) baseline.Key {
	k := baseline.KeyOf(id, w.command.Namespace)
	if w.command.Subresource == "scale" {
		k.Group, k.Kind = "", ""
	}
	return k
}

// forEngine returns the write for the engine.
func (w *write) forEngine(c *admitCommand) engine.Write {
	namespace := cmp.Or(w.Namespace, c.Namespace)
	switch {
	case w.patch != nil:
		patch := *w.patch
		patch.Old, patch.Subresource, patch.Namespace = w.old.Document, c.Subresource, namespace
		return patch
	case w.old == nil:
		return engine.Create{Object: w.Document, Namespace: namespace}
	}
	return engine.Update{Object: w.Document, Old: w.old.Document, Subresource: c.Subresource, Namespace: namespace}
}

var errUntyped = errors.New("it is not an object of Kubernetes: it needs a kind, and an apiVersion GROUP/VERSION whose group " +
	"has a dot, such as stable.example.com/v1")
