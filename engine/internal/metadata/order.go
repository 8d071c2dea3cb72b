package metadata

import (
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// appendInOrder prints v as JSON. Keys have the order of the node that v was made from; other keys follow, sorted. Node
// 0 has no order.
func appendInOrder(dst []byte, v any, d *tree.Doc, node uint32) []byte {
	switch v := v.(type) {
	case map[string]any:
		open := len(dst)
		write := func(key string, like uint32) {
			dst = append(append(dst, ','), marshal(key)...)
			dst = appendInOrder(append(dst, ':'), v[key], d, like)
		}
		written := map[string]bool{}
		if d.Nodes[node].Kind == tree.Object {
			for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
				key := d.Key(c)
				if _, present := v[key]; present && !written[key] {
					written[key] = true
					write(key, c)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !written[key] {
				write(key, 0)
			}
		}
		return closed(dst, open, "{}")
	case []any:
		open, like := len(dst), uint32(0)
		if d.Nodes[node].Kind == tree.Array && d.Len(node) == len(v) {
			like = d.Nodes[node].First
		}
		for _, e := range v {
			dst = appendInOrder(append(dst, ','), e, d, like)
			like = d.Nodes[like].Next
		}
		return closed(dst, open, "[]")
	}
	return append(dst, marshal(v)...)
}

// closed closes the members from an index of a text, each of which begins with a comma.
func closed(dst []byte, open int, brackets string) []byte {
	if len(dst) == open {
		return append(dst, brackets...)
	}
	dst[open] = brackets[0]
	return append(dst, brackets[1])
}

func marshal(v any) []byte {
	text, _ := utiljson.Marshal(v) // cannot fail for the values of JSON
	return text
}
