package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// policy is the content of the access file.
type policy struct {
	Bindings *[]binding  `yaml:"bindings"`
	Quotas   []quotaRule `yaml:"quotas"`
}

// binding gives subjects a role in catalogs.
type binding struct {
	Role     Role     `yaml:"role"`
	Catalogs []string `yaml:"catalogs"`
	Users    []string `yaml:"users"`
	Groups   []string `yaml:"groups"`
}

// parsePolicy reads an access file. Unknown fields, empty lists of catalogs, and a file without bindings are errors.
func parsePolicy(text []byte) (*policy, error) {
	p := &policy{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(p); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("the file has more than one document")
	}
	if p.Bindings == nil {
		return nil, errors.New("bindings is missing: add bindings, or write 'bindings: []' to deny every call")
	}
	var errs []error
	at := func(list string, i int) func(field, format string, args ...any) {
		return func(field, format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s[%d].%s: %s", list, i, field, fmt.Sprintf(format, args...)))
		}
	}
	for i := range *p.Bindings {
		(*p.Bindings)[i].check(at("bindings", i))
	}
	for i := range p.Quotas {
		p.Quotas[i].check(at("quotas", i))
	}
	return p, errors.Join(errs...)
}

func (b *binding) check(wrong func(field, format string, args ...any)) {
	if _, known := permissionsOf[b.Role]; !known {
		wrong("role", "%q is not a role: use one of %s", b.Role, strings.Join(roleNames(), ", "))
	}
	checkGlobs(b.Catalogs, "catalogs", wrong)
	if len(b.Users)+len(b.Groups) == 0 {
		wrong("users", "the binding has neither users nor groups")
	}
	for field, list := range map[string][]string{"users": b.Users, "groups": b.Groups} {
		if slices.Contains(list, "") {
			wrong(field, "a name is empty")
		}
	}
}

func checkGlobs(globs []string, field string, wrong func(field, format string, args ...any)) {
	if len(globs) == 0 {
		wrong(field, "the list is empty: use '*' for all catalogs")
	}
	if slices.Contains(globs, "") {
		wrong(field, "a name is empty")
	}
}

// permissions returns what an identity may do in a catalog.
func (p *policy) permissions(id Identity, catalog string) (all Permission) {
	for i := range *p.Bindings {
		if b := &(*p.Bindings)[i]; b.has(id) && matchesAny(b.Catalogs, catalog) {
			all |= permissionsOf[b.Role]
		}
	}
	return all
}

// has reports whether a binding is for an identity.
func (b *binding) has(id Identity) bool {
	return matchesName(b.Users, id.Name) || slices.ContainsFunc(id.Groups, func(g string) bool { return matchesName(b.Groups, g) })
}

// bindsAnonymous reports whether callers without credentials have a role in a catalog.
func (p *policy) bindsAnonymous() bool {
	return slices.ContainsFunc(*p.Bindings, func(b binding) bool { return b.has(anonymous) })
}

// quota returns the quota in the first entry that matches the catalog.
func (p *policy) quota(catalog string) Quota {
	for i := range p.Quotas {
		if matchesAny(p.Quotas[i].Catalogs, catalog) {
			return p.Quotas[i].quota()
		}
	}
	return Quota{}
}

// matchesName reports whether a user or group matches one of the globs. Names that begin with "system:" match only
// globs that begin with it too. So '*' does not include callers without credentials.
func matchesName(globs []string, name string) bool {
	const reserved = "system:"
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
