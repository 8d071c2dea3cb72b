package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/compare"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/search"
	"github.com/crdeval/crdeval/engine/value"
)

// statusPointer is the JSON pointer of the schema of the status.
const statusPointer = "/properties/status"

// searchesFor returns the searches for an object that shows a change, in the order to run them. For a breaking change
// without a search, it returns the reason.
func searchesFor(c *Change, old, new *Definition) (searches []DistinguishOptions, noObject string) {
	o := DistinguishOptions{Version: c.Version}
	if o.Version == "" {
		o.Version = old.sampleVersion()
	}
	switch before := old.compiled.Version(o.Version); {
	case c.Class == Compatible:
		return nil, ""
	case before == nil || !before.Served:
		noObject = fmt.Sprintf("the old CRD does not serve the version %s", o.Version)
	case c.SchemaPointer == "":
		var shown bool
		if shown, noObject = searchOutside(&o, c, old, new); shown {
			return []DistinguishOptions{o}, ""
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
func searchOutside(o *DistinguishOptions, c *Change, old, new *Definition) (shown bool, noObject string) {
	o.Pointers = []string{""}
	o.anyReason = true
	switch c.Kind {
	case "VersionRemoved", "VersionUnserved", "KindChanged", "SchemaAdded", "SchemaRemoved":
	case "NameChanged", "GroupChanged", "PluralChanged":
		o.missing = "the new CRD is " + new.Name() + ", and its objects have other URLs"
	case "ScopeChanged":
		o.missing = fmt.Sprintf("the new CRD has the scope %s, and its objects have other URLs", new.Scope())
	case "PreserveUnknownFieldsChanged":
		o.anyReason, o.counts = false, func(_ *search.Aim, r *reply) bool { return len(r.unknown) > 0 }
	case "StatusRemoved":
		o.Subresource, o.Pointers = "status", []string{statusPointer}
	case "StatusAdded":
		o.ignored, o.Pointers = true, []string{statusPointer}
		if s := schema.Of(old.crdVersion(o.Version)); s == nil || sample.PlaceAt(s, statusPointer) == nil {
			return false, "the schema of the old CRD has no status"
		}
	case "StorageLosesFields":
		var fields []string
		_ = json.Unmarshal(c.New, &fields) // nil if they are too long
		if o.ignored, o.Pointers = true, nil; len(fields) == 0 {
			return false, "the lost fields are not listed"
		}
		for _, field := range fields {
			o.Pointers = append(o.Pointers, fieldPointer(field))
		}
	case "ScaleRemoved":
		o.Subresource = "scale"
		o.Pointers = []string{fieldPointer(schema.ScaleOf(old.crdVersion(o.Version)).SpecReplicasPath)}
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
		o.anyReason, o.counts = false, func(aim *search.Aim, r *reply) bool {
			for i := range r.faults {
				if r.pointers[i] == "" && r.faults[i].Path.Pointer() == aim.Path.Pointer() {
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
func searchesInSchema(o DistinguishOptions, c *Change, old, new *Definition) (all []DistinguishOptions) {
	o.Pointers, o.counts, o.witness = []string{c.SchemaPointer}, reasonFor(c), c.Witness
	if c.NewPointer != c.SchemaPointer { // violations have the pointers of the new schema
		o.Pointers = append(o.Pointers, c.NewPointer)
	}
	if strings.HasPrefix(c.Kind, "LogicalOperator") {
		for _, d := range []*Definition{new, old} {
			o.Pointers = append(o.Pointers, clausePointers(schema.Of(d.crdVersion(c.Version)), c.SchemaPointer)...)
		}
	}
	subresources, updates := []string{""}, []bool{false}
	if changesDefault(c, new) {
		o.defaults = true
		o.counts = func(_ *search.Aim, r *reply) bool { return len(r.unknown) == 0 }
		var transitions bool
		if o.Pointers, transitions = aroundDefault(schema.Of(new.crdVersion(c.Version)), c.SchemaPointer); transitions {
			updates = []bool{false, true}
		}
	}
	var rule apiextensionsv1.ValidationRule
	isRule := (c.Kind == "RuleAdded" || c.Kind == "RuleChanged") && json.Unmarshal(c.New, &rule) == nil
	if isRule {
		updates = needsUpdate(&rule)
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
func haveStatus(version string, old, new *Definition) bool {
	a, b := old.compiled.Version(version), new.compiled.Version(version)
	return a != nil && b != nil && a.HasStatus && b.HasStatus
}

// needsUpdate returns the kinds of writes that can violate a rule, in the order to search: false for creations, true
// for updates.
func needsUpdate(rule *apiextensionsv1.ValidationRule) []bool {
	switch {
	case !compare.IsTransition(rule):
		return []bool{false}
	case rule.OptionalOldSelf != nil && *rule.OptionalOldSelf:
		return []bool{false, true}
	}
	return []bool{true}
}

// reasonFor returns DistinguishOptions.counts for a change.
func reasonFor(c *Change) func(*search.Aim, *reply) bool {
	switch c.Kind {
	case "RequiredAdded":
		var name string
		if json.Unmarshal(c.New, &name) == nil {
			return func(aim *search.Aim, r *reply) bool {
				for i, p := range r.pointers {
					if path := r.faults[i].Path; p == aim.Pointer() && len(path) > 0 && path[len(path)-1].Key() == name {
						return true
					}
				}
				return false
			}
		}
	case "BoundTightened": // maximum and minimum report violations of exclusiveMaximum and exclusiveMinimum
		return func(aim *search.Aim, r *reply) bool {
			keyword := strings.ToLower(strings.TrimPrefix(aim.Keyword, "exclusive"))
			if keyword != "maximum" && keyword != "minimum" {
				keyword = aim.Keyword
			}
			return slices.Contains(r.pointers, aim.Node+"/"+keyword)
		}
	case "ListMapKeysChanged":
		return func(aim *search.Aim, r *reply) bool {
			return slices.ContainsFunc(r.pointers, func(p string) bool {
				return strings.HasPrefix(p, aim.Node+"/x-kubernetes-list-")
			})
		}
	}
	for _, exact := range []string{"Rule", "Enum", "Pattern", "Format", "Required", "ListType"} {
		if strings.HasPrefix(c.Kind, exact) {
			return func(aim *search.Aim, r *reply) bool { return r.isAt(aim.Pointer()) }
		}
	}
	return func(aim *search.Aim, r *reply) bool { return r.hasUnknownAt(aim.Node) || r.isAt(aim.Node) }
}

// crdVersion returns a version as the CRD declares it, or nil.
func (d *Definition) crdVersion(name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	m, err := definition.Decode(d.compiled.Manifest)
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
			pointer += "/properties/" + value.EscapePointer(plain)
		}
		pointer += strings.Repeat("/items", strings.Count(name, "[]"))
	}
	return pointer
}

// withChange compiles old with one change of a schema of new. It returns nil if that is not possible. pointer is the
// JSON pointer of the change in the schema of the result.
func withChange(ctx context.Context, old, new *Definition, c *Change) (d *Definition, pointer string, err error) {
	p := sample.PlaceAt(cmp.Or(schema.Of(new.crdVersion(c.Version)), &schema.Props{}), c.SchemaPointer)
	if p == nil {
		p = sample.PlaceAt(cmp.Or(schema.Of(old.crdVersion(c.Version)), &schema.Props{}), c.SchemaPointer)
	}
	if p == nil || p.Pointer() == "" {
		return nil, "", nil
	}
	pointer = p.Pointer()
	above, key := p.Node, p.Keyword
	if key == "" {
		i := strings.LastIndex(pointer, "/")
		above, key = pointer[:i], value.UnescapePointer(pointer[i+1:])
	}
	manifest, to, err := schemaNode(old, c.Version, above)
	if err != nil || to == nil {
		return nil, "", err
	}
	_, from, err := schemaNode(new, c.Version, above)
	if err != nil || from == nil {
		return nil, "", err
	}
	switch {
	case p.Rule() != "":
		var was apiextensionsv1.ValidationRule
		_ = json.Unmarshal(c.Old, &was) // nil for a new rule
		rules, _ := to[key].([]any)
		rules = slices.DeleteFunc(slices.Clone(rules), func(r any) bool {
			m, _ := r.(map[string]any)
			return was.Rule != "" && m["rule"] == was.Rule
		})
		i, _ := strconv.Atoi(p.Rest[0]) // the index of the rule
		to[key] = append(rules, from[key].([]any)[i])
		pointer = fmt.Sprintf("%s/%s/%d", p.Node, key, len(rules))
	case c.Kind == "RequiredAdded":
		names, _ := to[key].([]any)
		to[key] = append(slices.Clone(names), c.New)
	case from[key] == nil:
		delete(to, key)
	default:
		to[key] = from[key]
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, "", failed(ReasonInternal, "CRD "+old.Name(), err)
	}
	d, _, err = Compile(ctx, JSON(text), Options{Limits: old.compiled.Limits})
	return d, pointer, err
}

// schemaNode decodes the manifest of a definition, and returns it with the node of a schema at a JSON pointer. The node
// is nil if the schema does not have it.
func schemaNode(d *Definition, version, pointer string) (manifest, node map[string]any, err error) {
	reader := json.NewDecoder(bytes.NewReader(d.compiled.Manifest))
	reader.UseNumber()
	if err := reader.Decode(&manifest); err != nil {
		return nil, nil, failed(ReasonInternal, "CRD "+d.Name(), err)
	}
	spec, _ := manifest["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		if m, _ := v.(map[string]any); m["name"] == version {
			node = m
		}
	}
	var at any = node
	for _, token := range strings.Split("/schema/openAPIV3Schema"+pointer, "/")[1:] {
		switch parent := at.(type) {
		case map[string]any:
			at = parent[value.UnescapePointer(token)]
		case []any:
			at = nil
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(parent) {
				at = parent[i]
			}
		}
	}
	node, _ = at.(map[string]any)
	return manifest, node, nil
}
