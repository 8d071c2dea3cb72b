package mutation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// Use is a part of a schema, with the number of accepted writes that used it.
type Use struct {
	// Kind is default, enum, anyOf or oneOf.
	Kind          string `json:"kind"`
	SchemaPointer string `json:"schemaPointer"`
	Field         string `json:"field"`
	// Value is the default or the enum value as JSON, "" for a branch.
	Value string `json:"value,omitempty"`
	Count int    `json:"count"`
}

// Missing describes an unused part, such as "never applied". It returns "" if the part was used.
func (u *Use) Missing() string {
	switch {
	case u.Count > 0:
		return ""
	case u.Kind == "default":
		return "default never applied"
	case u.Kind == "enum":
		return "enum value never used"
	}
	return u.Kind + " branch never reached"
}

// VersionUses are the uses of a version of a CRD, in the order of its schema.
type VersionUses struct {
	CRD, Version string
	Uses         []*Use
	keys         map[string]*Use
}

// Coverage counts the uses of the schemas of CRDs. Variants of a CRD are counted together.
type Coverage struct {
	Versions []*VersionUses
}

// CoverageOf counts the uses of one CRD.
type CoverageOf struct {
	coverage *Coverage
	crd      *crd
	branches map[string]*engine.Definition // by version and pointer; nil for those that cannot be compiled
	options  engine.Options
}

// Of adds the schemas of a CRD.
func (c *Coverage) Of(d *engine.Definition, o engine.Options) (*CoverageOf, error) {
	read, err := newCRD("", d)
	if err != nil {
		return nil, err
	}
	of := &CoverageOf{coverage: c, crd: read, branches: map[string]*engine.Definition{}, options: o}
	for _, v := range read.versions {
		of.register(v, v.schema)
	}
	return of, nil
}

func (c *Coverage) version(crd, version string) *VersionUses {
	at := slices.IndexFunc(c.Versions, func(v *VersionUses) bool { return v.CRD == crd && v.Version == version })
	if at < 0 {
		at = len(c.Versions)
		c.Versions = append(c.Versions, &VersionUses{CRD: crd, Version: version, keys: map[string]*Use{}})
	}
	return c.Versions[at]
}

// use returns the counter of a part of a schema.
func (c *CoverageOf) use(v *version, n *schemaNode, kind, suffix, value string) *Use {
	uses := c.coverage.version(c.crd.definition.Name(), v.name)
	pointer := n.pointer + "/" + kind + suffix
	key := n.pointer + "\x00" + kind + "\x00" + value
	if value == "" {
		key = pointer
	}
	if uses.keys[key] == nil {
		uses.keys[key] = &Use{Kind: kind, SchemaPointer: pointer, Field: n.field, Value: value}
		uses.Uses = append(uses.Uses, uses.keys[key])
	}
	return uses.keys[key]
}

// logical are the operators whose branches are counted.
var logical = []string{"anyOf", "oneOf"}

func (n *schemaNode) branchesOf(keyword string) int {
	if _, ok := n.keys["x-kubernetes-int-or-string"]; ok {
		return 0
	}
	list, _ := n.keys[keyword].([]any)
	return len(list)
}

// register adds the uses of a schema with the count 0. Schemas within logical operators have none.
func (c *CoverageOf) register(v *version, n *schemaNode) {
	if value, ok := n.keys["default"]; ok {
		c.use(v, n, "default", "", shown(value))
	}
	values, _ := n.keys["enum"].([]any)
	for i, value := range values {
		c.use(v, n, "enum", fmt.Sprintf("/%d", i), shown(value))
	}
	for _, keyword := range logical {
		for i := range n.branchesOf(keyword) {
			c.use(v, n, keyword, fmt.Sprintf("/%d", i), "")
		}
	}
	for _, child := range n.children() {
		if !slices.Contains(n.branches, child) {
			c.register(v, child)
		}
	}
}

// Add counts an accepted write.
func (c *CoverageOf) Add(ctx context.Context, apiVersion string, w engine.Write, verdict *engine.Verdict) error {
	if !verdict.Allowed {
		return nil
	}
	input, _, subresource, err := objectsOf(w)
	if err != nil || subresource == "scale" {
		return err
	}
	name := apiVersion[strings.LastIndex(apiVersion, "/")+1:]
	for _, v := range c.crd.versions {
		if v.name != name {
			continue
		}
		in, out, n := parse(input), parse(verdict.Object), v.schema
		if subresource == "status" { // all other fields are those of the old object
			inObject, _ := in.(map[string]any)
			outObject, _ := out.(map[string]any)
			if in, out, n = inObject["status"], outObject["status"], n.properties["status"]; n == nil {
				return nil
			}
		}
		return c.count(ctx, v, n, in, out)
	}
	return nil
}

// count counts the uses of a resulting value, and of those below it. in is the value in the request.
func (c *CoverageOf) count(ctx context.Context, v *version, n *schemaNode, in, out any) error {
	if out == nil {
		return nil
	}
	if _, ok := n.keys["enum"]; ok {
		if values, _ := n.keys["enum"].([]any); slices.ContainsFunc(values,
			func(x any) bool { return shown(x) == shown(out) }) {
			c.use(v, n, "enum", "", shown(out)).Count++
		}
	}
	for _, keyword := range logical {
		for i := range n.branchesOf(keyword) {
			reached, err := c.reached(ctx, v, n, keyword, i, out)
			if err != nil {
				return err
			}
			if reached {
				c.use(v, n, keyword, fmt.Sprintf("/%d", i), "").Count++
			}
		}
	}
	switch out := out.(type) {
	case map[string]any:
		given, _ := in.(map[string]any)
		for name, value := range out {
			child := n.properties[name]
			if child == nil {
				child = n.additional
			}
			if child == nil {
				continue
			}
			sent := given[name]
			if byDefault, ok := child.keys["default"]; ok && sent == nil {
				c.use(v, child, "default", "", shown(byDefault)).Count++
				sent = byDefault
			}
			if err := c.count(ctx, v, child, sent, value); err != nil {
				return err
			}
		}
	case []any:
		given, _ := in.([]any)
		for i, value := range out {
			if n.items == nil {
				break
			}
			var sent any
			if i < len(given) {
				sent = given[i]
			}
			if err := c.count(ctx, v, n.items, sent, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// reached reports whether a value is valid for a branch. It is validated with a CRD that has the schema and the branch.
func (c *CoverageOf) reached(ctx context.Context, v *version, n *schemaNode, keyword string, i int,
	value any) (bool, error) {
	key := fmt.Sprintf("%s%s/%s/%d", v.name, n.pointer, keyword, i)
	d, known := c.branches[key]
	if !known {
		var err error
		if d, err = c.branch(ctx, n, keyword, i); err != nil {
			return false, err
		}
		c.branches[key] = d
	}
	if d == nil {
		return false, nil
	}
	object, err := json.Marshal(map[string]any{"apiVersion": "coverage.example.com/v1", "kind": "Branch",
		"metadata": map[string]any{"name": "branch"}, "value": value})
	if err != nil {
		return false, err
	}
	verdict, err := d.Validate(ctx, engine.Create{Object: engine.JSON(object)}, engine.ValidateOptions{AsGiven: true})
	return err == nil && verdict.Allowed, err
}

// branch compiles a CRD for the values that are valid for a branch, nil if an API server rejects it.
func (c *CoverageOf) branch(ctx context.Context, n *schemaNode, keyword string, i int) (*engine.Definition, error) {
	schema := withoutRules(n.keys).(map[string]any)
	branches, _ := schema[keyword].([]any)
	all, _ := schema["allOf"].([]any)
	schema["allOf"] = append(slices.Clone(all), branches[i])
	delete(schema, "anyOf")
	delete(schema, "oneOf")
	delete(schema, "default")
	text, err := json.Marshal(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "branches.coverage.example.com"},
		"spec": map[string]any{"group": "coverage.example.com", "scope": "Cluster",
			"names": map[string]any{"plural": "branches", "singular": "branch", "kind": "Branch", "listKind": "BranchList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"value": schema}}}}}}})
	if err != nil {
		return nil, err
	}
	d, _, err := engine.Compile(ctx, engine.JSON(text), c.options)
	return d, err
}

// withoutRules copies a schema without its rules, which the value satisfies already.
func withoutRules(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, value := range v {
			if _, isList := value.([]any); key != "x-kubernetes-validations" || !isList {
				copied[key] = withoutRules(value)
			}
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i := range v {
			copied[i] = withoutRules(v[i])
		}
		return copied
	}
	return v
}
