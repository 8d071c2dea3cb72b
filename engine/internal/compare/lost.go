package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// losses knows which fields of the versions of two CRDs the storage version cannot hold, where nothing but apiVersion changes between versions.
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

// lossy tells of the fields of a version that its objects lose when they are stored, and of those that they lose when they are read and written
// at it; unless they lost them before.
func (c *comparison) lossy(l *losses, n *version) {
	if l.newStorage == nil || l.newStorage.Name == n.Name {
		return
	}
	var o, storage *version
	if o = schema.Find(l.old, n.Name); o != nil && l.oldStorage != nil {
		storage = l.oldStorage
	}
	all := l.new.Spec.PreserveUnknownFields
	lost := c.lost(schema.Of(n), schema.Of(l.newStorage), all)
	hidden := c.lost(schema.Of(l.newStorage), schema.Of(n), all)
	var had map[string]struct{} // and is lost from now on
	if o != nil {
		had = c.lost(schema.Of(o), schema.Of(l.newStorage), all)
	}
	if storage != nil && storage.Name != o.Name {
		before := l.old.Spec.PreserveUnknownFields
		without(lost, c.lost(schema.Of(o), schema.Of(storage), before))
		without(had, c.lost(schema.Of(o), schema.Of(storage), before))
		without(hidden, c.lost(schema.Of(storage), schema.Of(o), before))
	}
	if len(lost) > 0 {
		names := slices.Sorted(maps.Keys(lost))
		f := found{kind: StorageLosesFields, at: path("schema", "openAPIV3Schema"), new: names[:min(len(names), mostLost)], message: fmt.Sprintf(
			"%s, where objects are stored, does not have all fields of %s, and nothing converts them; lost with every write: %s", l.newStorage.Name, n.Name, few(names))}
		switch {
		case n.Served && len(had) > 0:
			f.impact.Writers, f.impact.Readers = Breaking, Breaking
		case n.Served:
			f.impact.Writers, f.impact.Readers = Care, Care
		}
		if len(had) > 0 && (slices.Contains(c.Stored, n.Name) || storage != nil && storage.Name == n.Name) {
			f.impact.Stored = Breaking
		}
		c.tell(f)
	}
	if len(hidden) > 0 && n.Served {
		names := slices.Sorted(maps.Keys(hidden))
		c.tell(found{kind: VersionHidesFields, impact: Impact{Stored: Care, Writers: Care}, at: path("schema", "openAPIV3Schema"), new: names[:min(len(names), mostLost)],
			message: fmt.Sprintf("%s does not have all fields of %s, where objects are stored, and nothing converts them; lost where an object is read and replaced at %s: %s",
				n.Name, l.newStorage.Name, n.Name, few(names))})
	}
}

// lost are the fields of one schema that another prunes.
func (c *comparison) lost(from, to *Props, keepsAll bool) map[string]struct{} {
	s := sieve{c: c, lost: map[string]struct{}{}}
	s.node(from, to, "", keepsAll, true)
	return s.lost
}

func without(set, less map[string]struct{}) {
	for name := range less {
		delete(set, name)
	}
}

// mostLost is how many of the fields that are lost a change lists.
const mostLost = 100

// sieve finds the fields of one schema that another prunes.
type sieve struct {
	c    *comparison
	lost map[string]struct{}
}

func (s *sieve) node(from, to *Props, at string, keepsAll, root bool) {
	if from == nil || keepsAll || !s.c.step() {
		return
	}
	if to == nil {
		to = &Props{}
	}
	for _, name := range schema.Names(from.Properties) {
		if root && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue
		}
		way := name
		if at != "" {
			way = at + "." + name
		}
		p := from.Properties[name]
		q, declared := to.Properties[name]
		switch {
		case declared:
			s.node(&p, &q, way, false, false)
		case to.AdditionalProperties != nil:
			s.node(&p, to.AdditionalProperties.Schema, way, false, false)
		case !keeps(to) && (!to.XEmbeddedResource || !slices.Contains(typeMeta, name)):
			s.lost[way] = struct{}{}
		}
	}
	if values := valueSchema(from); values != nil {
		switch {
		case to.AdditionalProperties != nil:
			s.node(values, to.AdditionalProperties.Schema, at+".*", false, false)
		case !keeps(to):
			s.lost[strings.TrimPrefix(at+".*", ".")] = struct{}{}
		}
	}
	if keeps(from) && !keeps(to) && from.AdditionalProperties == nil && to.AdditionalProperties == nil && (to.Type == "object" || to.Type == "") {
		s.lost[strings.TrimPrefix(at+".*", ".")] = struct{}{}
	}
	if from.Items != nil && to.Items != nil {
		s.node(from.Items.Schema, to.Items.Schema, at+"[]", false, false)
	}
}
