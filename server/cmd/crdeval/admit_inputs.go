package main

import (
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/manifests"
)

// inputs are the documents of a run, in the order in which they were given.
type inputs struct {
	crds   []source
	writes []write
}

// write is a request about an object.
type write struct {
	source
	id identity
	// old is the object that exists, if the write is an update; of a patch it is the source itself.
	old       *source
	patch     *engine.Patch
	patchName string // its file, or the flag that has it
}

// untyped is why nobody can tell the CRD of the document, nil if it says what it is.
func (w *write) untyped() error {
	const text = "it has no apiVersion or no kind, so nobody can tell its CRD: give it both"
	if w.id.Kind != "" && w.id.APIVersion != "" {
		return nil
	}
	apiVersion, kind, err := engine.TypeMetaOf(w.Document, engine.Limits{})
	switch {
	case err != nil:
		return err
	case apiVersion == "" && kind == "":
		return otherKindError(text)
	}
	return errors.New(text)
}

// key is what a cluster tells objects apart by.
type key struct{ group, kind, namespace, name string }

func (c *admitCommand) inputs(env environment) (*inputs, error) {
	in := &inputs{}
	for _, name := range c.CRDs {
		list, err := crds(name, env)
		if err != nil {
			return nil, err
		}
		for i := range list {
			in.crds = append(in.crds, list[i].source)
		}
	}
	existing, err := c.existing(env)
	if err != nil {
		return nil, err
	}
	patch, err := c.patch(env)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Files {
		list, err := sourcesIn(name, env)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if _, kind, err := engine.TypeMetaOf(list[i].Document, engine.Limits{}); err == nil && kind == manifests.CRDKind {
				in.crds = append(in.crds, list[i])
				continue
			}
			w, err := c.write(&list[i], existing, patch)
			if err != nil {
				return nil, err
			}
			in.writes = append(in.writes, w)
		}
	}
	return in, nil
}

// write is what is asked about a document.
func (c *admitCommand) write(s *source, existing *existing, patch *engine.Patch) (write, error) {
	w := write{source: *s, id: s.identity(), patch: patch}
	if patch != nil {
		w.old, w.patchName = s, "patch"
		if c.PatchFile != "" {
			w.patchName = c.PatchFile
		}
		return w, nil
	}
	at := c.key(&w.id)
	if c.Subresource != "scale" {
		w.old = existing.objects[at]
		return w, nil
	}
	// A Scale does not say whose it is but by its name.
	of := existing.named[place{at.namespace, at.name}]
	switch {
	case len(of) > 1:
		return w, fmt.Errorf("%s: the Scale of %s may be that of %s or that of %s: give them to --old in runs of their own", s.where(), at.name, of[0].where(), of[1].where())
	case len(of) == 1:
		w.old = of[0]
		id := of[0].identity()
		w.id.APIVersion, w.id.Kind = id.APIVersion, id.Kind
	}
	return w, nil
}

// existing are the objects of --old.
type existing struct {
	objects map[key]*source
	named   map[place][]*source // of any kind, in the order in which they were given
}

// place is what objects of several kinds can have in common.
type place struct{ namespace, name string }

// existing reads the objects of --old.
func (c *admitCommand) existing(env environment) (*existing, error) {
	all := &existing{objects: map[key]*source{}, named: map[place][]*source{}}
	for _, name := range c.Old {
		list, err := sourcesIn(name, env)
		if err != nil {
			return nil, err
		}
		for i := range list {
			id := list[i].identity()
			if id.Metadata.Name == "" {
				continue // of nothing that exists
			}
			at := c.key(&id)
			if other := all.objects[at]; other != nil {
				return nil, fmt.Errorf("%s: %s %s is in %s already: an object exists once", list[i].where(), at.kind, at.name, other.where())
			}
			all.objects[at] = &list[i]
			here := place{at.namespace, at.name}
			all.named[here] = append(all.named[here], &list[i])
		}
	}
	return all, nil
}

func (c *admitCommand) key(id *identity) key {
	group, _, _ := cutAPIVersion(id.APIVersion)
	k := key{group, id.Kind, id.Metadata.Namespace, id.Metadata.Name}
	if k.namespace == "" {
		k.namespace = c.Namespace
	}
	return k
}

// patch is that of --patch or --patch-file, nil if there is none.
func (c *admitCommand) patch(env environment) (*engine.Patch, error) {
	text := []byte(c.Patch)
	if c.PatchFile != "" {
		var err error
		if text, err = readFile(c.PatchFile, env); err != nil {
			return nil, fmt.Errorf("%s: %w", c.PatchFile, err)
		}
	}
	if !c.patching() {
		return nil, nil
	}
	p := &engine.Patch{Type: engine.MergePatch, Document: engine.YAML(text)}
	if c.Type == "json" {
		p.Type = engine.JSONPatch
	}
	return p, nil
}
