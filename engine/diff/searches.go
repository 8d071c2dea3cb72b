package diff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/goal"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// statusPointer is the JSON pointer of the schema of the status.
const statusPointer = "/properties/status"

// searchesFor returns the searches for an object that shows a change, in the order to run them. For a breaking change
// without a search, it returns the reason.
func searchesFor(c *Change, old, new *engine.Definition) (searches []goal.Options, noObject string) {
	o := goal.Options{Write: goal.Write{Version: c.Version}}
	if o.Version == "" {
		o.Version = compiled.Of(old).DefaultVersion()
	}
	switch before := compiled.Of(old).Version(o.Version); {
	case c.Class == Compatible:
		return nil, ""
	case before == nil || !before.Served:
		noObject = fmt.Sprintf("the old CRD does not serve the version %s", o.Version)
	case c.SchemaPointer == "":
		var shown bool
		if shown, noObject = searchOutside(&o, c, old, new); shown {
			return []goal.Options{o}, ""
		}
	case max(c.Stored, c.Writers) >= NeedsCare:
		return searchesInSchema(o, c, old, new), ""
	}
	switch {
	case c.Class != Breaking:
		return nil, ""
	case noObject == "":
		noObject = "it affects only clients that read objects"
	}
	return nil, noObject
}

// searchOutside completes the search for a change outside of the schemas. If there is no such search, it returns false,
// and the reason if it has one.
func searchOutside(o *goal.Options, c *Change, old, new *engine.Definition) (shown bool, noObject string) {
	o.Pointers = []string{""}
	o.AnyReason = true
	switch c.Kind {
	case "VersionRemoved", "VersionUnserved", "KindChanged", "SchemaAdded", "SchemaRemoved":
	case "NameChanged", "GroupChanged", "PluralChanged":
		o.Missing = "the new CRD is " + new.Name() + ", and its objects have other URLs"
	case "ScopeChanged":
		o.Missing = fmt.Sprintf("the new CRD has the scope %s, and its objects have other URLs", new.Scope())
	case "PreserveUnknownFieldsChanged":
		o.AnyReason, o.Counts = false, func(_ *search.Aim, r *goal.Reply) bool { return len(r.Unknown) > 0 }
	case "StatusRemoved":
		o.Subresource, o.Pointers = "status", []string{statusPointer}
	case "StatusAdded":
		o.Ignored, o.Pointers = true, []string{statusPointer}
		if s := schema.Of(declared(old, o.Version)); s == nil || sample.PlaceAt(s, statusPointer) == nil {
			return false, "the schema of the old CRD has no status"
		}
	case "StorageLosesFields":
		var fields []string
		_ = json.Unmarshal(c.New, &fields) // nil if they are too long
		if o.Ignored, o.Pointers = true, nil; len(fields) == 0 {
			return false, "the lost fields are not listed"
		}
		for _, field := range fields {
			o.Pointers = append(o.Pointers, fieldPointer(field))
		}
	case "ScaleRemoved":
		o.Subresource = "scale"
		o.Pointers = []string{fieldPointer(schema.ScaleOf(declared(old, o.Version)).SpecReplicasPath)}
	case "ScaleAdded", "ScaleChanged":
		if c.Writers == Compatible {
			return false, "it affects only clients that read the subresource scale"
		}
		var added apiextensionsv1.CustomResourceSubresourceScale
		path := ""
		if json.Unmarshal(c.New, &path) != nil && json.Unmarshal(c.New, &added) == nil {
			path = added.SpecReplicasPath
		}
		o.Pointers = []string{fieldPointer(path)}
		if strings.HasPrefix(o.Pointers[0], statusPointer+"/") && haveStatus(o.Version, old, new) {
			o.Subresource = "status"
		}
		o.AnyReason, o.Counts = false, func(aim *search.Aim, r *goal.Reply) bool {
			for i, p := range r.Pointers {
				if p == "" && r.Faults[i].Path.Pointer() == aim.Path.Pointer() {
					return true
				}
			}
			return false
		}
	case "ConversionStrategyChanged":
		return false, "the conversion webhook of the old CRD decides which fields are lost"
	case "SelectableFieldRemoved":
		return false, "it rejects lists and watches, but no writes"
	default:
		return false, ""
	}
	return true, ""
}

// searchesInSchema returns the searches for a change of a schema. o has its version.
func searchesInSchema(o goal.Options, c *Change, old, new *engine.Definition) (all []goal.Options) {
	o.Pointers, o.Counts, o.Witness = []string{c.SchemaPointer}, reasonFor(c), c.Witness
	if c.NewPointer != c.SchemaPointer { // violations have the pointers of the new schema
		o.Pointers = append(o.Pointers, c.NewPointer)
	}
	if strings.HasPrefix(c.Kind, "LogicalOperator") {
		for _, d := range []*engine.Definition{new, old} {
			o.Pointers = append(o.Pointers, clausePointers(schema.Of(declared(d, c.Version)), c.SchemaPointer)...)
		}
	}
	subresources, updates := []string{""}, []bool{false}
	if changesDefault(c, new) {
		o.Defaults = true
		o.Counts = func(_ *search.Aim, r *goal.Reply) bool { return len(r.Unknown) == 0 }
		var transitions bool
		if o.Pointers, transitions = aroundDefault(schema.Of(declared(new, c.Version)), c.SchemaPointer); transitions {
			updates = []bool{false, true}
		}
	}
	var rule apiextensionsv1.ValidationRule
	isRule := (c.Kind == "RuleAdded" || c.Kind == "RuleChanged") && json.Unmarshal(c.New, &rule) == nil
	if isRule {
		updates = compare.WritesFor(&rule)
	}
	if haveStatus(c.Version, old, new) {
		switch {
		case strings.HasPrefix(c.SchemaPointer+"/", statusPointer+"/"):
			subresources = []string{"status"}
		case isRule && strings.Contains(rule.Rule, "status") && strings.Count(c.SchemaPointer, "/") == 2:
			subresources = []string{"", "status"}
		}
	}
	for _, o.Subresource = range subresources {
		for _, o.Update = range updates {
			all = append(all, o)
		}
	}
	return all
}

// haveStatus reports whether a version has the subresource status in both CRDs. Then creations drop the status.
func haveStatus(version string, old, new *engine.Definition) bool {
	a, b := compiled.Of(old).Version(version), compiled.Of(new).Version(version)
	return a != nil && b != nil && a.HasStatus && b.HasStatus
}

// reasonFor returns goal.Options.Counts for a change.
func reasonFor(c *Change) func(*search.Aim, *goal.Reply) bool {
	switch c.Kind {
	case "RequiredAdded":
		var name string
		if json.Unmarshal(c.New, &name) == nil {
			return func(aim *search.Aim, r *goal.Reply) bool {
				for i, p := range r.Pointers {
					if path := r.Faults[i].Path; p == aim.Pointer() && len(path) > 0 && path[len(path)-1].Key() == name {
						return true
					}
				}
				return false
			}
		}
	case "BoundTightened": // maximum and minimum report violations of exclusiveMaximum and exclusiveMinimum
		return func(aim *search.Aim, r *goal.Reply) bool {
			keyword := strings.ToLower(strings.TrimPrefix(aim.Keyword, "exclusive"))
			if keyword != "maximum" && keyword != "minimum" {
				keyword = aim.Keyword
			}
			return slices.Contains(r.Pointers, aim.Node+"/"+keyword)
		}
	case "ListMapKeysChanged":
		return func(aim *search.Aim, r *goal.Reply) bool {
			return slices.ContainsFunc(r.Pointers, func(p string) bool {
				return strings.HasPrefix(p, aim.Node+"/x-kubernetes-list-")
			})
		}
	}
	for _, exact := range []string{"Rule", "Enum", "Pattern", "Format", "Required", "ListType"} {
		if strings.HasPrefix(c.Kind, exact) {
			return func(aim *search.Aim, r *goal.Reply) bool { return r.IsAt(aim.Pointer()) }
		}
	}
	return func(aim *search.Aim, r *goal.Reply) bool { return r.HasUnknownAt(aim.Node) || r.IsAt(aim.Node) }
}

// declared returns a version as the CRD declares it, or nil.
func declared(d *engine.Definition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	m, err := definition.Decode(d.Manifest())
	if err != nil {
		return nil
	}
	return schema.Find(m.CRD, name)
}

// fieldPointer returns the JSON pointer in a schema of a field such as spec.list[].field or .spec.map.*.
func fieldPointer(field string) string {
	pointer := ""
	for name := range strings.SplitSeq(strings.TrimPrefix(field, "."), ".") {
		plain := strings.TrimRight(name, "[]")
		if plain == "*" {
			pointer += "/additionalProperties"
		} else {
			pointer += "/properties/" + tree.EscapePointer(plain)
		}
		pointer += strings.Repeat("/items", strings.Count(name, "[]"))
	}
	return pointer
}
