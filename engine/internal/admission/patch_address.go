package admission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
)

// addressOld finds the endpoint of a request whose body does not name a version.
func (p *pass) addressOld() (*Version, error) {
	if p.r.Version == "" {
		q := p.oldReader()
		if err := p.openOld(q); err != nil {
			return nil, err
		}
		p.r.Version = q.of.Version
		p.d.Reset()
		p.old = oldObject{}
	}
	v, err := p.def.endpoint("version", p.r.Version)
	if err != nil {
		return nil, err
	}
	p.out.Version, p.out.Explained = v, true
	if p.unserved() {
		return v, nil
	}
	p.out.Warnings = slices.Clip(v.Warnings)
	if p.r.Status && !v.HasStatus || p.r.Scale && v.Scale == nil {
		name := p.r.Name
		if name == "" {
			if name, err = p.nameOfOld(); err != nil {
				return nil, err
			}
		}
		p.out.Rejection = p.def.notFound(name)
	}
	return v, nil
}

// openOld reads kind and apiVersion of the old object.
func (p *pass) openOld(q *pass) error {
	if err := q.readOther(); err != nil {
		return ofOld(err)
	}
	if !q.matches {
		return ofOld(&Fault{Code: InvalidArgument, Text: fmt.Sprintf("it is of %s, and the request is about %s.%s",
			q.of.GroupKind().String(), p.def.Kind, p.def.Group)})
	}
	return nil
}

func (p *pass) nameOfOld() (string, error) {
	q := p.oldReader()
	if err := p.openOld(q); err != nil {
		return "", err
	}
	name, _ := q.metaString(q.d.Field(q.root, "metadata"), "name")
	name = strings.Clone(name)
	p.d.Reset()
	p.old = oldObject{}
	return name, nil
}

// setKnown makes the new object one of the endpoint's version, and the request one about the old object.
func (p *pass) setKnown(v *Version) {
	p.of.Group, p.of.Version, p.of.Kind = p.def.Group, v.Name, p.def.Kind
	p.matches, p.own = true, v
	p.addressAsOld(p.d, p.old.root)
}

// addressAsOld takes the name and the namespace of the request from the old object, unless the request has them.
func (p *pass) addressAsOld(d *value.Doc, root uint32) {
	meta := d.Field(root, "metadata")
	of := func(key string) string {
		if c := d.Field(meta, key); c != 0 && d.Nodes[c].Kind == value.String {
			return strings.Clone(d.Str(c))
		}
		return ""
	}
	if p.r.Name == "" {
		p.r.Name = of("name")
	}
	if p.r.Namespace == "" && p.def.Namespaced {
		p.r.Namespace = of("namespace")
	}
}
