package diff

import (
	"cmp"
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// inStorage returns an object completed as a stored one: with a name, a namespace and a resourceVersion, and without
// the member named without. had reports whether the object had that member.
func inStorage(d *engine.Definition, object engine.Document, item engine.Create, without string) (stored engine.Document, had bool) {
	text := object.JSON
	if object.YAML != nil {
		var err error
		if text, _, err = tree.YAMLToJSON(object.YAML, compiled.Of(d).Limits); err != nil {
			return object, false
		}
	}
	var root, metadata map[string]json.RawMessage
	if json.Unmarshal(text, &root) != nil || root == nil || root["metadata"] != nil && json.Unmarshal(root["metadata"], &metadata) != nil {
		return object, false // its evaluation reports the error
	}
	if metadata == nil {
		metadata = map[string]json.RawMessage{}
	}
	complete := func(name, text string) {
		if _, known := metadata[name]; !known {
			metadata[name], _ = json.Marshal(text)
		}
	}
	complete("name", cmp.Or(item.Name, "replayed"))
	complete("resourceVersion", "1")
	if d.Scope() == apiextensionsv1.NamespaceScoped {
		complete("namespace", cmp.Or(item.Namespace, "default"))
	}
	_, had = root[without]
	delete(root, without)
	root["metadata"], _ = json.Marshal(metadata)
	if text, err := json.Marshal(root); err == nil {
		return engine.JSON(text), had
	}
	return object, false
}
