package access

import (
	"errors"
	"slices"
	"strings"
)

// policy is the content of the access file.
type policy struct {
	bindings []binding
	quotas   []quotaRule
}

// binding gives subjects a role in catalogs.
type binding struct {
	role                    Role
	catalogs, users, groups []string
}

// parsePolicy reads an access file. Unknown fields, empty lists of catalogs, and a file without bindings are errors.
func parsePolicy(text []byte) (*policy, error) {
	var errs []error
	root, err := parseDocument(text, &errs)
	if err != nil {
		return nil, err
	}
	p, fields := &policy{}, root.fields("bindings", "quotas")
	for _, b := range root.field(fields, "bindings", "add bindings, or write 'bindings: []' to deny every call").list() {
		p.bindings = append(p.bindings, parseBinding(b))
	}
	for _, q := range fields["quotas"].list() {
		p.quotas = append(p.quotas, parseQuota(q))
	}
	return p, errors.Join(errs...)
}

func parseBinding(n node) (b binding) {
	fields, roles := n.fields("role", "catalogs", "users", "groups"), strings.Join(roleNames(), ", ")
	if f := n.field(fields, "role", "use one of "+roles); f.Node != nil {
		b.role = Role(f.Value)
		if _, known := permissionsOf[b.role]; !known {
			f.wrong("%q is not a role: use one of %s", f.Value, roles)
		}
	}
	b.catalogs, b.users, b.groups = n.catalogs(fields), fields["users"].names(), fields["groups"].names()
	if len(b.users)+len(b.groups) == 0 && len(fields) > 0 {
		n.wrong("the binding has neither users nor groups: add a name to one of these lists")
	}
	return b
}

// permissions returns what an identity may do in a catalog.
func (p *policy) permissions(id Identity, catalog string) (all Permission) {
	for i := range p.bindings {
		if b := &p.bindings[i]; b.has(id) && matchesAny(b.catalogs, catalog) {
			all |= permissionsOf[b.role]
		}
	}
	return all
}

// has reports whether a binding is for an identity.
func (b *binding) has(id Identity) bool {
	return matchesName(b.users, id.Name) || slices.ContainsFunc(id.Groups, func(g string) bool { return matchesName(b.groups, g) })
}

// bindsAnonymous reports whether callers without credentials have a role in a catalog.
func (p *policy) bindsAnonymous() bool {
	return slices.ContainsFunc(p.bindings, func(b binding) bool { return b.has(anonymous) })
}

// quota returns the quota in the first entry that matches the catalog.
func (p *policy) quota(catalog string) Quota {
	for i := range p.quotas {
		if matchesAny(p.quotas[i].catalogs, catalog) {
			return p.quotas[i].quota
		}
	}
	return Quota{}
}

// reserved begins the names of Kubernetes.
const reserved = "system:"

// matchesName reports whether a user or group matches one of the globs. Names that begin with "system:" match only
// globs that begin with it too. So '*' does not include callers without credentials.
func matchesName(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		return matches(g, name) && (!strings.HasPrefix(name, reserved) || strings.HasPrefix(g, reserved))
	})
}

func matchesAny(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matches(g, name) })
}

// matches reports whether name matches a glob, in which '*' is any text. There are no other wildcards.
func matches(glob, name string) bool {
	first, rest, wild := strings.Cut(glob, "*")
	if !wild {
		return glob == name
	}
	name, ok := strings.CutPrefix(name, first)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}
