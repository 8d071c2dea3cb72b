package metamorphic

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// sameInYAML reports whether a document means the same as YAML. YAML has no duplicate keys, reads 1.0 and numbers
// beyond int64 differently, and limits the length of keys.
func sameInYAML(n *jsontree.Node) bool {
	switch n.Kind {
	case jsontree.Array:
		for _, e := range n.Items {
			if !sameInYAML(e) {
				return false
			}
		}
	case jsontree.Object:
		keys := map[string]bool{}
		for _, m := range n.Members {
			if keys[m.Key] || len(m.Key) > 100 || m.RawKey != "" || !plainString(jsontree.Quote(m.Key)) || !sameInYAML(m.Value) {
				return false
			}
			keys[m.Key] = true
		}
	default:
		return sameScalar(n.Raw)
	}
	return true
}

func sameScalar(raw string) bool {
	switch raw[0] {
	case '"':
		return plainString(raw)
	case 't', 'f', 'n':
		return true
	}
	if _, err := strconv.ParseInt(raw, 10, 64); err == nil {
		return raw != "-0"
	}
	f, err := strconv.ParseFloat(raw, 64)
	return err == nil && f != math.Trunc(f) && strconv.FormatFloat(f, 'f', -1, 64) == raw
}

// plainString reports whether a JSON string is also a string of YAML. Escapes like \ud83d and \/ are not.
func plainString(raw string) bool {
	for _, r := range raw {
		if r < ' ' || r > 0xffff || strings.ContainsRune("\x7f\u0085\u00a0\u2028\u2029\ufeff\ufffd", r) {
			return false
		}
	}
	return !strings.Contains(raw, `\u`) && !strings.Contains(raw, `\/`)
}

// toYAML prints a document in block style, and in flow style below blockDepth. Keys keep their order.
func toYAML(n *jsontree.Node) []byte {
	if n.Len() == 0 {
		return n.JSON() // errors quote bodies, with their line feed
	}
	return append(appendYAML(nil, n, 0), '\n')
}

// blockDepth bounds the indentation, because that of thousands of levels would exceed the limit of bytes.
const blockDepth = 50

func appendYAML(b []byte, n *jsontree.Node, indent int) []byte {
	if n.Len() == 0 || indent > blockDepth {
		return append(b, n.JSON()...)
	}
	start := "\n" + strings.Repeat("  ", indent)
	if indent == 0 {
		start = "\n"
	}
	for i := range n.Len() {
		if i > 0 || indent > 0 {
			b = append(b, start...)
		}
		if n.Kind == jsontree.Array {
			b = append(b, "- "...)
		} else {
			b = append(append(b, jsontree.Quote(n.Members[i].Key)...), ": "...)
		}
		b = appendYAML(b, n.Child(i), indent+1)
	}
	return b
}

// sortedDocuments returns a history whose documents have sorted keys, because YAML is read so.
func sortedDocuments(h history) history {
	h = slices.Clone(h)
	for i := range h {
		o := &h[i]
		o.Manifests, o.Items = slices.Clone(o.Manifests), slices.Clone(o.Items)
		for k := range o.Manifests {
			o.Manifests[k] = sortedKeys(o.Manifests[k])
		}
		for k := range o.Items {
			o.Items[k].Object, o.Items[k].Old = sortedKeys(o.Items[k].Object), sortedKeys(o.Items[k].Old)
		}
	}
	return h
}

func sortedKeys(n *jsontree.Node) *jsontree.Node {
	if n == nil {
		return nil
	}
	n = n.Clone()
	n.Walk(func(n, _ *jsontree.Node, _ int) {
		slices.SortStableFunc(n.Members, func(a, b jsontree.Member) int { return strings.Compare(a.Key, b.Key) })
	})
	return n
}
