package metadata

import (
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/crdeval/crdeval/engine/value"
)

// appendInOrder prints v as JSON. Keys have the order of the node that v was made from; other keys follow, sorted. Node
// 0 has no order.
func appendInOrder(dst []byte, v any, d *value.Doc, node uint32) ([]byte, error) {
	switch v := v.(type) {
	case map[string]any:
		dst = append(dst, '{')
		first := true
		var err error
		write := func(key string, like uint32) {
			if err != nil {
				return
			}
			var name []byte
			if name, err = utiljson.Marshal(key); err != nil {
				return
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = append(append(dst, name...), ':')
			dst, err = appendInOrder(dst, v[key], d, like)
		}
		written := map[string]bool{}
		if node != 0 && d.Nodes[node].Kind == value.Object {
			for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
				if key := d.Key(c); has(v, key) && !written[key] {
					written[key] = true
					write(key, c)
				}
			}
		}
		added := make([]string, 0, len(v))
		for key := range v {
			if !written[key] {
				added = append(added, key)
			}
		}
		slices.Sort(added)
		for _, key := range added {
			write(key, 0)
		}
		return append(dst, '}'), err
	case []any:
		dst = append(dst, '[')
		like := uint32(0)
		if node != 0 && d.Nodes[node].Kind == value.Array && int(d.Nodes[node].Live) == len(v) {
			like = d.Nodes[node].First
		}
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendInOrder(dst, e, d, like); err != nil {
				return dst, err
			}
			if like != 0 {
				like = d.Nodes[like].Next
			}
		}
		return append(dst, ']'), nil
	}
	text, err := utiljson.Marshal(v)
	return append(dst, text...), err
}

func has(m map[string]any, key string) bool {
	_, ok := m[key]
	return ok
}
