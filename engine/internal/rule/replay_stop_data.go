package rule

import (
	"strings"

	"k8s.io/apiserver/pkg/cel/common"

	"github.com/crdeval/crdeval/internal/value"
)

// largeText is from how many bytes of documents on a value keeps watch: below that, nothing in it takes long.
const largeText = 1 << 16

func large(d *value.Doc) bool { return len(d.Src[value.Request])+len(d.Src[value.Old]) > largeText }

// data is value.Doc.Any for a value that may be large.
func (s *stopper) data(d *value.Doc, node uint32) any {
	s.poll()
	switch d.Nodes[node].Kind {
	case value.Array:
		list := make([]any, 0, d.Len(node))
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			list = append(list, s.data(d, c))
		}
		return list
	case value.Object:
		object := make(map[string]any, d.Len(node))
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			object[strings.Clone(d.Key(c))] = s.data(d, c)
		}
		return object
	}
	return d.Any(node)
}

// watched are the data of a node and the schema to look at them with.
func (s *stopper) watched(d *value.Doc, node uint32, schema common.Schema) (any, common.Schema) {
	if s.signal.Done() == nil || !s.large {
		return d.Any(node), schema
	}
	return s.data(d, node), s.schemaOf(schema)
}

// attempt does work that may be ended, and reports whether it was not.
func attempt(work func()) (ok bool) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case ended:
			ok = false
		default:
			panic(r)
		}
	}()
	work()
	return true
}
