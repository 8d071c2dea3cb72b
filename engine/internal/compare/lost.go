package compare

import (
	"fmt"
	"maps"
	"slices"

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

// lossy tells of the fields of a version that its objects lose when they are stored, unless they lost them before.
func (c *comparison) lossy(l *losses, n *version) {
	if l.newStorage == nil || l.newStorage.Name == n.Name {
		return
	}
	s := sieve{c: c, lost: map[string]struct{}{}}
	s.node(schema.Of(n), schema.Of(l.newStorage), "", l.new.Spec.PreserveUnknownFields, true)
	if o := schema.Find(l.old, n.Name); o != nil && l.oldStorage != nil && len(s.lost) > 0 && o.Name != l.oldStorage.Name {
		before := sieve{c: c, lost: map[string]struct{}{}}
		before.node(schema.Of(o), schema.Of(l.oldStorage), "", l.old.Spec.PreserveUnknownFields, true)
		for name := range before.lost {
			delete(s.lost, name)
		}
	}
	if len(s.lost) == 0 {
		return
	}
	names := slices.Sorted(maps.Keys(s.lost))
	f := found{kind: StorageLosesFields, at: path("schema", "openAPIV3Schema"), message: fmt.Sprintf(
		"%s, where objects are stored, does not have all fields of %s, and nothing converts them; lost with every write: %s", l.newStorage.Name, n.Name, few(names))}
	if n.Served {
		f.impact.Writers, f.impact.Readers = Breaking, Breaking
	}
	if slices.Contains(c.Stored, n.Name) || l.oldStorage != nil && l.oldStorage.Name == n.Name {
		f.impact.Stored = Breaking
	}
	if len(names) > mostLost {
		names = names[:mostLost]
	}
	f.new = names
	c.tell(f)
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
			s.lost[at+".*"] = struct{}{}
		}
	}
	if keeps(from) && !keeps(to) && from.AdditionalProperties == nil && to.AdditionalProperties == nil && (to.Type == "object" || to.Type == "") {
		s.lost[at+" (fields that are not declared)"] = struct{}{}
	}
	if from.Items != nil && to.Items != nil {
		s.node(from.Items.Schema, to.Items.Schema, at+"[]", false, false)
	}
}
