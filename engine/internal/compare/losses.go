package compare

import (
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// losses has the storage versions of two CRDs, nil where a webhook converts.
type losses struct {
	old, new               *CRD
	oldStorage, newStorage *version
}

func newLosses(old, new *CRD) *losses {
	l := &losses{old: old, new: new}
	if conversionOf(new).Strategy == "None" {
		l.newStorage = schema.Storage(new)
	}
	if conversionOf(old).Strategy == "None" {
		l.oldStorage = schema.Storage(old)
	}
	return l
}

// maxLost bounds the fields that a change lists.
const maxLost = 100

// losses reports fields of a version that the storage version prunes, and the reverse. It does not report fields that
// were pruned under the old CRD already.
func (c *comparison) losses(l *losses, n *version) {
	storage := l.newStorage
	if storage == nil || storage.Name == n.Name {
		return
	}
	preservesAll := l.new.Spec.PreserveUnknownFields
	lost := c.pruned(schema.Of(n), schema.Of(storage), preservesAll)
	hidden := c.pruned(schema.Of(storage), schema.Of(n), preservesAll)
	var oldLost fieldSet // fields of the old version that are lost from now on
	o := schema.Find(l.old, n.Name)
	if o != nil {
		oldLost = c.pruned(schema.Of(o), schema.Of(storage), preservesAll)
		if s := l.oldStorage; s != nil && s.Name != o.Name {
			before := c.pruned(schema.Of(o), schema.Of(s), l.old.Spec.PreserveUnknownFields)
			lost.subtract(before)
			oldLost.subtract(before)
			hidden.subtract(c.pruned(schema.Of(s), schema.Of(o), l.old.Spec.PreserveUnknownFields))
		}
	}
	at := path("schema", "openAPIV3Schema")
	if len(lost) > 0 {
		impact := harmless
		switch {
		case n.Served && len(oldLost) > 0:
			impact = breaksClients
		case n.Served:
			impact = careForClients
		}
		wasStorage := o != nil && l.oldStorage != nil && l.oldStorage.Name == n.Name
		if len(oldLost) > 0 && (wasStorage || slices.Contains(c.Stored, n.Name)) {
			impact.Stored = Breaking
		}
		c.report("StorageLosesFields", impact, at, nil, lost.first(maxLost),
			"the storage version %s does not have all fields of %s, and there is no conversion; every write loses: %s",
			storage.Name, n.Name, some(lost.first(len(lost))))
	}
	if len(hidden) > 0 && n.Served {
		c.report("VersionHidesFields", careForWrites, at, nil, hidden.first(maxLost),
			"%[1]s does not have all fields of the storage version %[2]s, and there is no conversion; reading and replacing "+
				"an object at %[1]s loses: %[3]s", n.Name, storage.Name, some(hidden.first(len(hidden))))
	}
}

// fieldSet is a set of paths such as spec.list[].field.
type fieldSet map[string]struct{}

func (s fieldSet) subtract(other fieldSet) {
	maps.DeleteFunc(s, func(name string, _ struct{}) bool { _, found := other[name]; return found })
}

// first returns the first n fields in alphabetical order.
func (s fieldSet) first(n int) []string {
	return slices.Sorted(maps.Keys(s))[:min(n, len(s))]
}

// pruned returns the fields of one schema that another prunes.
func (c *comparison) pruned(from, to *Props, preservesAll bool) fieldSet {
	s := pruneWalk{c: c, pruned: fieldSet{}}
	if !preservesAll {
		s.node(from, to, "")
	}
	return s.pruned
}

type pruneWalk struct {
	c      *comparison
	pruned fieldSet
}

func (s *pruneWalk) node(from, to *Props, at string) {
	if from == nil || !s.c.step() {
		return
	}
	if to == nil {
		to = &Props{}
	}
	for _, name := range schema.Names(from.Properties) {
		if at == "" && slices.Contains(typeMeta, name) {
			continue
		}
		path := strings.TrimPrefix(at+"."+name, ".")
		p := from.Properties[name]
		q, declared := to.Properties[name]
		switch {
		case declared:
			s.node(&p, &q, path)
		case to.AdditionalProperties != nil:
			s.node(&p, to.AdditionalProperties.Schema, path)
		case !schema.Preserves(to) && (!to.XEmbeddedResource || !slices.Contains(typeMeta, name)):
			s.pruned[path] = struct{}{}
		}
	}
	anyField := strings.TrimPrefix(at+".*", ".")
	if values := schema.ValueSchema(from); values != nil {
		switch {
		case to.AdditionalProperties != nil:
			s.node(values, to.AdditionalProperties.Schema, at+".*")
		case !schema.Preserves(to):
			s.pruned[anyField] = struct{}{}
		}
	}
	if schema.Preserves(from) && !schema.Preserves(to) && from.AdditionalProperties == nil && to.AdditionalProperties == nil &&
		(to.Type == "object" || to.Type == "") {
		s.pruned[anyField] = struct{}{}
	}
	if from.Items != nil && to.Items != nil {
		s.node(from.Items.Schema, to.Items.Schema, at+"[]")
	}
}
