package diff

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

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/sample"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// withChange compiles old with one change of a schema of new. It returns nil if that is not possible. pointer is the
// JSON pointer of the change in the schema of the result.
func withChange(ctx context.Context, old, new *engine.Definition, c *Change) (d *engine.Definition, pointer string, err error) {
	p := sample.PlaceAt(cmp.Or(schema.Of(declared(new, c.Version)), &schema.Props{}), c.SchemaPointer)
	if p == nil {
		p = sample.PlaceAt(cmp.Or(schema.Of(declared(old, c.Version)), &schema.Props{}), c.SchemaPointer)
	}
	if p == nil || p.Pointer() == "" {
		return nil, "", nil
	}
	pointer = p.Pointer()
	above, key := p.Node, p.Keyword
	if key == "" {
		i := strings.LastIndex(pointer, "/")
		above, key = pointer[:i], tree.UnescapePointer(pointer[i+1:])
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
		return nil, "", compiled.Error(compiled.Failed(admission.Internal, "CRD "+old.Name(), err))
	}
	d, _, err = engine.Compile(ctx, engine.JSON(text), engine.Options{Limits: compiled.Of(old).Limits})
	return d, pointer, err
}

// schemaNode decodes the manifest of a definition, and returns it with the node of a schema at a JSON pointer. The node
// is nil if the schema does not have it.
func schemaNode(d *engine.Definition, version, pointer string) (manifest, node map[string]any, err error) {
	reader := json.NewDecoder(bytes.NewReader(d.Manifest()))
	reader.UseNumber()
	if err := reader.Decode(&manifest); err != nil {
		return nil, nil, compiled.Error(compiled.Failed(admission.Internal, "CRD "+d.Name(), err))
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
			at = parent[tree.UnescapePointer(token)]
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
