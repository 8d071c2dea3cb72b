package lens

import (
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// AnnotationPrefix and the name of a version form the name of the annotation with the stashed fields of that version.
// The annotation is a JSON object that maps the path of a rule to the stashed value. If the path goes through lists or
// maps, it maps the path to an object of values by the keys of the items. The member "" means that the annotations of
// the object were {}.
const AnnotationPrefix = "conversion.crdeval.dev/"

// writeAnnotation sets the annotation of a version.
func (r *run) writeAnnotation(version string, text []byte) *Error {
	d, root := r.d, r.root
	name := AnnotationPrefix + version
	metadata := objectAt(d, root, "metadata")
	annotations := objectAt(d, metadata, "annotations")
	if d.Nodes[metadata].Kind != tree.Object || d.Nodes[annotations].Kind != tree.Object {
		return &Error{Rule: "stash", Text: "metadata or its annotations are not an object, so they cannot have the annotation " + name}
	}
	size := len(name) + len(text)
	for c := d.Nodes[annotations].First; c != 0; c = d.Nodes[c].Next {
		if size += len(d.Key(c)); d.Nodes[c].Kind == tree.String {
			size += len(d.Str(c))
		}
	}
	if size > maxStashBytes {
		return &Error{Rule: "stash", Text: fmt.Sprintf("with the annotation %s, all annotations would have %d bytes, "+
			"and the limit of Kubernetes is %d: remove other annotations, or shorten what is stashed", name, size, maxStashBytes)}
	}
	d.Append(annotations, newString(d, name, string(text)))
	d.MarkDirty(root, metadata)
	return nil
}

// takeAnnotation removes the annotation of a version. It returns the object in it, or 0 if the annotation is absent or
// invalid.
func takeAnnotation(d *tree.Doc, root uint32, version string) (kept uint32) {
	metadata := d.Field(root, "metadata")
	annotations := d.Field(metadata, "annotations")
	if d.Nodes[annotations].Kind != tree.Object {
		return 0
	}
	for c := d.Nodes[annotations].First; c != 0; c = d.Nodes[c].Next {
		rest, found := strings.CutPrefix(d.Key(c), AnnotationPrefix)
		if !found || rest != version {
			continue
		}
		removeMember(d, annotations, c)
		d.MarkDirty(root, metadata)
		if d.Nodes[c].Kind == tree.String {
			if text := []byte(d.Str(c)); len(text) <= maxStashBytes {
				kept, _ = d.Parse(text, tree.Arena, tree.Limits{MaxBytes: max(len(text), 1)})
			}
		}
		if d.Nodes[kept].Kind != tree.Object {
			kept = 0
		}
		if d.Len(annotations) == 0 && (kept == 0 || d.Field(kept, "") == 0) {
			removeMember(d, metadata, annotations)
		}
		return kept
	}
	return 0
}
