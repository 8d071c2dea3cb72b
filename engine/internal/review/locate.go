package review

import (
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/violation"
)

// lifted are the prefixes by which upstream names what all versions share; a manifest has it in each version.
var lifted = []struct{ upstream, written string }{
	{"spec.validation.openAPIV3Schema", "spec.versions[0].schema.openAPIV3Schema"},
	{"spec.validation", "spec.versions[0].schema"},
	{"spec.subresources", "spec.versions[0].subresources"},
	{"spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"},
	{"spec.selectableFields", "spec.versions[0].selectableFields"},
	{"spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"},
	{"spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"},
}

// Locate finds the place in a manifest that the field of a finding means, and the node there or its deepest ancestor that the
// manifest has. Fields name places of upstream's internal form; v1 manifests and v1beta1 manifests are written otherwise.
func Locate(d *value.Doc, root uint32, text string) (value.Path, uint32) {
	best, node, rest := walk(d, root, text, nil)
	for _, l := range lifted {
		tail, ok := strings.CutPrefix(text, l.upstream)
		if rest == "" || !ok || tail != "" && tail[0] != '.' && tail[0] != '[' {
			continue
		}
		if p, n, left := walk(d, root, l.written+tail, nil); left == "" || len(p) > len(best) {
			best, node, rest = p, n, left
		}
	}
	return append(best, violation.PathOf(rest)...), node
}

// walk follows the text through the tree as far as it goes; rest is what is left. Keys may hold dots and brackets: the tree
// tells where they end.
func walk(d *value.Doc, node uint32, text string, at value.Path) (best value.Path, deepest uint32, rest string) {
	best, deepest, rest = at, node, text
	if text == "" {
		return best, deepest, rest
	}
	try := func(c uint32, step value.Segment, tail string) {
		if tail != "" && tail[0] != '.' && tail[0] != '[' {
			return
		}
		if p, n, left := walk(d, c, tail, at.With(step)); len(left) < len(rest) {
			best, deepest, rest = p, n, left
		}
	}
	switch d.Nodes[node].Kind {
	case value.Object:
		for c := d.Nodes[node].First; c != 0; c = d.Nodes[c].Next {
			key := d.Key(c)
			if tail, ok := strings.CutPrefix(text, "["+key+"]"); ok {
				try(c, value.Entry(key), tail)
			}
			plain := strings.TrimPrefix(text, ".")
			// Printer columns and selectable fields are named as the Go type's fields are: JSONPath.
			if len(plain) >= len(key) && strings.EqualFold(plain[:len(key)], key) {
				try(c, value.Name(key), plain[len(key):])
			}
		}
	case value.Array:
		inner, tail, ok := strings.Cut(strings.TrimPrefix(text, "["), "]")
		if i, err := strconv.Atoi(inner); ok && err == nil && text[0] == '[' {
			if c := d.Index(node, i); c != 0 {
				try(c, value.At(i), tail)
			}
		}
	}
	return best, deepest, rest
}

// schemaPointer is the part of a place that lies in a schema.
func schemaPointer(p value.Path) string {
	for i := range p {
		if !p[i].IsIndex() && p[i].Key() == "openAPIV3Schema" {
			return p[i+1:].Pointer()
		}
	}
	return ""
}
