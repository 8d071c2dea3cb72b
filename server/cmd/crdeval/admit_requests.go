package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/input"
	"github.com/crdeval/crdeval/engine/workspace"
)

// inputs are the documents of the files of a run, in their order.
type inputs struct {
	crds   []*input.Source
	rules  []*input.Source // conversion rules of the CRDs
	writes []*write
	noOld  bool // --old has no object

	unreadable []*input.Source // documents of --old
}

// write is a create, update or patch request for an object.
type write struct {
	*input.Source
	apiVersion, kind string        // of the object; the source may be a Scale
	old              *input.Source // the existing object of an update; the source itself for a patch
	patch            *crdevalv1.ObjectPatch
	skip             string // why it is skipped
}

// key identifies an object in a cluster.
type key struct{ group, kind, namespace, name string }

func (c *admitCommand) key(id *engine.Identity) key {
	return key{input.GroupOf(id.APIVersion), id.Kind, cmp.Or(id.Namespace, c.Namespace), id.Name}
}

// inputs reads the files.
func (c *admitCommand) inputs(files input.Reader) (*inputs, error) {
	existing, unreadable, err := c.existing(files)
	if err != nil {
		return nil, err
	}
	patch, err := c.patch(files)
	if err != nil {
		return nil, err
	}
	in := &inputs{noOld: len(c.Old) > 0 && len(existing) == 0, unreadable: unreadable}
	list, err := files.Manifests(c.Files...)
	if err != nil {
		return nil, err
	}
	for _, s := range list {
		switch {
		case c.skipReason(s) != "":
			in.writes = append(in.writes, &write{Source: s, apiVersion: s.APIVersion, kind: s.Kind, skip: c.skipReason(s)})
			continue
		case s.Conversion:
			in.rules = append(in.rules, s)
			continue
		case s.Err == nil && s.Kind == workspace.CRDKind:
			in.crds = append(in.crds, s)
			continue
		}
		w, err := c.write(s, existing, patch)
		if err != nil {
			return nil, err
		}
		in.writes = append(in.writes, w)
	}
	return in, nil
}

// write returns the request for a document.
func (c *admitCommand) write(s *input.Source, existing map[key][]*input.Source, patch *crdevalv1.ObjectPatch) (*write, error) {
	w := &write{Source: s, apiVersion: s.APIVersion, kind: s.Kind, patch: patch}
	if patch != nil {
		w.old = s
		return w, nil
	}
	old := existing[c.lookupKey(&s.Identity)]
	if len(old) > 1 && c.Subresource != "scale" {
		if old = sameFile(old, s); len(old) != 1 {
			return nil, fmt.Errorf("%s: duplicate object: %s is in several files of --old, but not in exactly one whose path ends with %s",
				s.Where(), s.Title(), s.File)
		}
	}
	switch {
	case len(old) > 1:
		return nil, fmt.Errorf("%s: the Scale of %s may belong to %s or to %s: use separate runs with --old",
			s.Where(), s.Name, old[0].Where(), old[1].Where())
	case len(old) == 1:
		w.old, w.apiVersion, w.kind = old[0], old[0].APIVersion, old[0].Kind
		if c.Subresource != "scale" {
			w.apiVersion = s.APIVersion // the write may use another version
		}
	}
	return w, nil
}

// sameFile returns the sources in files whose path ends with the path of the file of s.
func sameFile(list []*input.Source, s *input.Source) (same []*input.Source) {
	suffix := "/" + filepath.ToSlash(filepath.Clean(s.File))
	for _, old := range list {
		if strings.HasSuffix(filepath.ToSlash(filepath.Clean(old.File)), suffix) {
			same = append(same, old)
		}
	}
	return same
}

// lookupKey returns the key by which a write finds its existing object. A Scale has only its namespace and name.
func (c *admitCommand) lookupKey(id *engine.Identity) key {
	k := c.key(id)
	if c.Subresource == "scale" {
		k.group, k.kind = "", ""
	}
	return k
}

// existing reads the objects of --old. It ignores documents without a name, and returns those that cannot be read.
func (c *admitCommand) existing(files input.Reader) (all map[key][]*input.Source, unreadable []*input.Source, _ error) {
	all = map[key][]*input.Source{}
	list, err := files.Manifests(c.Old...)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range list {
		switch lookup := c.lookupKey(&s.Identity); {
		case lookup.name != "" && s.Kind != workspace.CRDKind:
			all[lookup] = append(all[lookup], s)
		case s.Err != nil:
			unreadable = append(unreadable, s)
		}
	}
	return all, unreadable, nil
}

// patch returns the patch of --patch or --patch-file, or nil.
func (c *admitCommand) patch(files input.Reader) (_ *crdevalv1.ObjectPatch, err error) {
	if !c.patching() {
		return nil, nil
	}
	var text []byte
	if c.Patch != nil {
		text = []byte(*c.Patch)
	} else if text, err = files.ReadFile(c.PatchFile); err != nil {
		return nil, fmt.Errorf("%s: %w", c.PatchFile, err)
	}
	kind := crdevalv1.PatchType_value["PATCH_TYPE_"+strings.ToUpper(c.Type)]
	return &crdevalv1.ObjectPatch{Type: crdevalv1.PatchType(kind), Patch: toDocument(engine.YAML(text))}, nil
}

var errUntyped = errors.New("the document needs apiVersion and kind to find its CRD")
