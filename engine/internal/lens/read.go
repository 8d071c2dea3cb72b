package lens

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
)

// IsFile reports whether a document is a conversion file: an object with the name of a CRD and another field of such a
// file, without kind and apiVersion. Other documents, such as values of Helm, can have a field crd, too.
func IsFile(d *tree.Doc, root uint32) bool {
	crd := d.Field(root, "crd")
	if crd == 0 || d.Nodes[crd].Kind != tree.String || d.Field(root, "kind") != 0 || d.Field(root, "apiVersion") != 0 {
		return false
	}
	return slices.ContainsFunc(fields, func(name string) bool { return d.Field(root, name) != 0 })
}

// fields are the fields of a conversion file beside crd.
var fields = []string{"hub", "between", "rules", "except", "conversions"}

// Read reads a conversion file from a tree. It returns nil if there are violations. Their paths are paths in the file.
func Read(d *tree.Doc, root uint32) (*File, []violation.Violation) {
	r := reader{d: d}
	f := &File{}
	have := r.object(root, nil, "an object with crd, between and rules", append([]string{"crd"}, fields...)...)
	if f.CRD = r.text(have["crd"], true); have["hub"].node != 0 {
		f.Hub = r.text(have["hub"], true)
	}
	list := []member{{root, nil}}
	if all := have["conversions"]; all.node != 0 {
		for _, name := range []string{"between", "rules", "except"} {
			if m := have[name]; m.node != 0 {
				r.add(m.at, field.Forbidden(nil, "the file has conversions: move this into an item of it"))
			}
		}
		list = r.members(all, tree.Array, "a list of objects with between and rules", 0, maxPairs)
	}
	for _, m := range list {
		if m.at != nil {
			have = r.object(m.node, m.at, "an object with between and rules", "between", "rules", "except")
		}
		f.pairs = append(f.pairs, r.pair(have))
	}
	if len(r.found) > 0 {
		return nil, r.found
	}
	return f, nil
}

// reader reads a file.
type reader struct {
	d *tree.Doc
	findings
}

// member is a value and its path. Node 0 means that it is absent.
type member struct {
	node uint32
	at   tree.Path
}

// object returns the members of an object. Each of the names has an entry; others are violations. The result is nil if
// the value is not an object.
func (r *reader) object(node uint32, at tree.Path, want string, names ...string) map[string]member {
	if r.d.Nodes[node].Kind != tree.Object {
		r.add(at, field.TypeInvalid(nil, string(r.d.Raw(node)), "must be "+want))
		return nil
	}
	fields := make(map[string]member, len(names))
	for _, name := range names {
		fields[name] = member{0, at.With(tree.Name(name)).Clone()}
	}
	for c := r.d.Nodes[node].First; c != 0; c = r.d.Nodes[c].Next {
		name := strings.Clone(r.d.Key(c))
		if !slices.Contains(names, name) {
			at := at.With(tree.Name(name))
			r.add(at, field.Invalid(nil, name, "unknown field: use "+strings.Join(names, ", ")))
			continue
		}
		fields[name] = member{c, fields[name].at}
	}
	return fields
}

// missing adds a violation for a required member that is absent. It adds none if the value around it is not an object,
// because object adds one.
func (r *reader) missing(m member, want string) {
	if m.at != nil {
		r.add(m.at, field.Required(nil, "must be "+want))
	}
}

// members returns the items of a list or the members of an object, as kind says. want describes them for errors, and
// least and most bound their number.
func (r *reader) members(m member, kind tree.Kind, want string, least, most int) (all []member) {
	switch {
	case m.node == 0:
		r.missing(m, want)
	case r.d.Nodes[m.node].Kind != kind:
		r.add(m.at, field.TypeInvalid(nil, string(r.d.Raw(m.node)), "must be "+want))
	case r.d.Len(m.node) < least:
		r.add(m.at, field.Invalid(nil, string(r.d.Raw(m.node)), "must be "+want))
	case r.d.Len(m.node) > most:
		r.add(m.at, field.TooMany(nil, r.d.Len(m.node), most))
	default:
		for c := r.d.Nodes[m.node].First; c != 0; c = r.d.Nodes[c].Next {
			all = append(all, member{c, m.at.With(segment(r.d, m.node, c, len(all))).Clone()})
		}
	}
	return all
}

// text returns a string that is not empty.
func (r *reader) text(m member, required bool) string {
	switch {
	case m.node == 0 && !required:
	case m.node == 0:
		r.missing(m, "a string")
	case r.d.Nodes[m.node].Kind != tree.String || r.d.Str(m.node) == "":
		r.add(m.at, field.TypeInvalid(nil, string(r.d.Raw(m.node)), "must be a string that is not empty"))
	default:
		return strings.Clone(r.d.Str(m.node))
	}
	return ""
}

// path returns a path.
func (r *reader) path(m member, required bool) path {
	return r.parsePath(r.text(m, required), m.at)
}

func (r *reader) parsePath(text string, at tree.Path) path {
	if text == "" {
		return nil
	}
	p, err := parsePath(text)
	if err != nil {
		r.add(at, field.Invalid(nil, text, err.Error()))
	}
	return p
}

func (r *reader) pair(fields map[string]member) pair {
	p := pair{at: fields["between"].at}
	for i, m := range r.members(fields["between"], tree.Array, "a list of two versions", 2, 2) {
		p.between[i] = r.text(m, true)
	}
	if p.between[0] != "" && p.between[0] == p.between[1] {
		r.add(p.at, field.Invalid(nil, p.between[0], "the two versions must differ"))
	}
	if fields["except"].node != 0 {
		for _, m := range r.members(fields["except"], tree.Array, "a list of laws", 0, len(Laws)) {
			law := Law(r.text(m, true))
			if law != "" && !slices.Contains(Laws, law) {
				r.add(m.at, field.NotSupported(nil, law, Laws))
			}
			p.except = append(p.except, law)
		}
	}
	for i, m := range r.members(fields["rules"], tree.Array, "a list of rules", 0, maxRules) {
		p.rules = append(p.rules, r.rule(m, i))
	}
	return p
}

// rule reads one rule: an object with one kind of rule, and optionally back beside cel.
func (r *reader) rule(m member, index int) ruleText {
	rule := ruleText{index: index, at: m.at}
	kinds := []string{string(Move), string(List), string(Values), string(CEL), string(Stash), string(Drop)}
	all := r.object(m.node, m.at, "an object with one of "+strings.Join(kinds, ", "), append(kinds, "back")...)
	var own member
	for _, kind := range kinds {
		switch {
		case all[kind].node == 0:
		case rule.kind != "":
			r.add(m.at, field.Invalid(nil, kind, fmt.Sprintf("the rule has %s and %s: write two rules", rule.kind, kind)))
		default:
			rule.kind, own = Kind(kind), all[kind]
		}
	}
	if back := all["back"]; back.node != 0 {
		if rule.kind != CEL {
			r.add(back.at, field.Forbidden(nil, "only a cel rule has back"))
		}
		rule.back = r.back(back)
	}
	switch rule.kind {
	case "":
		if r.d.Nodes[m.node].Kind == tree.Object && r.d.Len(m.node) == 0 {
			r.add(m.at, field.Required(nil, "the rule has none of "+strings.Join(kinds, ", ")))
		}
	case Move:
		f := r.object(own.node, own.at, "an object with from and to", "from", "to")
		rule.from, rule.to = r.path(f["from"], true), r.path(f["to"], true)
	case List:
		f := r.object(own.node, own.at, "an object with path, key and map", "path", "key", "map")
		rule.from, rule.key, rule.to = r.path(f["path"], true), r.text(f["key"], true), r.path(f["map"], true)
	case Values:
		f := r.object(own.node, own.at, "an object with path and map", "path", "to", "map")
		if rule.from, rule.to = r.path(f["path"], true), r.path(f["to"], false); rule.to == nil {
			rule.to = rule.from
		}
		rule.values = r.values(f["map"])
	case CEL:
		f := r.object(own.node, own.at, "an object with to and expr", "to", "expr")
		rule.to, rule.expr = r.path(f["to"], true), r.text(f["expr"], true)
	case Stash:
		f := r.object(own.node, own.at, "an object with path and maxBytes", "path", "maxBytes")
		rule.from = r.path(f["path"], true)
		size, most := f["maxBytes"], maxStashBytes-rule.from.stashOverhead()
		switch n := r.d.Int(size.node); {
		case size.node == 0:
			r.missing(size, "the largest size of the value as JSON, in bytes")
		case r.d.Nodes[size.node].Kind != tree.Int || n < 1 || n > most:
			r.add(size.at, field.Invalid(nil, string(r.d.Raw(size.node)), fmt.Sprintf(
				"must be an integer from 1 to %d: the limit of Kubernetes for all annotations is %d bytes, with their names",
				most, maxStashBytes)))
		default:
			rule.maxBytes = n
		}
	case Drop:
		rule.from = r.path(r.object(own.node, own.at, "an object with path", "path")["path"], true)
	}
	return rule
}

// back reads the expressions under back, by path.
func (r *reader) back(m member) (list []backText) {
	for _, m := range r.members(m, tree.Object, "an object of expressions by path", 0, maxValues) {
		list = append(list, backText{to: r.parsePath(strings.Clone(r.d.Key(m.node)), m.at), expr: r.text(m, true), at: m.at})
	}
	return list
}

// values reads the map of a values rule.
func (r *reader) values(m member) (list [][2]text) {
	for _, m := range r.members(m, tree.Object, "an object of values that is not empty", 1, maxValues) {
		kind := r.d.Nodes[m.node].Kind
		if kind == tree.Array || kind == tree.Object || kind == tree.Null {
			r.add(m.at, field.TypeInvalid(nil, string(r.d.Raw(m.node)), "must be a string, a number or a boolean"))
		}
		key := text{tree.String, string(tree.AppendString(nil, r.d.Key(m.node))), m.at}
		list = append(list, [2]text{key, {kind, string(appendScalar(nil, r.d, m.node)), m.at}})
	}
	return list
}
