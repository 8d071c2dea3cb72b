package tree

import (
	"regexp"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
)

// convertedKey matches a key in JSON that can be a number or a boolean in YAML.
var convertedKey = regexp.MustCompile(`"(true|false|[-+.0-9][^"\\]*)":`)

// hasConvertedKeys reports whether JSON text that the YAML library made can have keys that were no strings in YAML.
// Several of them can be the same key in JSON: 8 and "8", or 1000 and 1e3. It can return true for other text.
func hasConvertedKeys(json []byte) bool { return convertedKey.Match(json) }

// withStringKeys returns the text with strings instead of keys that are numbers or booleans. It returns nil if such a key
// has an anchor or a tag, which the value of another key can need, and without such a key.
// From the text, the library makes a JSON object in which the last one of equal keys counts. From the original text, it
// makes one with the value of any of them.
func (y *YAMLSource) withStringKeys() []byte {
	k := keyRewriter{y: y}
	k.node(y.tree())
	if k.failed || k.edits == nil {
		return nil
	}
	slices.SortFunc(k.edits, func(a, b keyEdit) int { return a.begin - b.begin })
	var out []byte
	done := 0
	for _, e := range k.edits {
		if e.begin < done {
			return nil // the positions of the second YAML library are not those of keys
		}
		out = appendString(append(out, y.text[done:e.begin]...), e.key, false)
		done = e.end
	}
	return append(out, y.text[done:]...)
}

// keyRewriter collects the edits of withStringKeys.
type keyRewriter struct {
	y     *YAMLSource
	edits []keyEdit

	failed bool // there is a key that cannot be replaced
}

// keyEdit replaces a part of the text with a key.
type keyEdit struct {
	begin, end int
	key        string
}

func (k *keyRewriter) node(n *yamlv3.Node) {
	if n == nil {
		return
	}
	for i, c := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 && !isMerge(c) {
			k.key(c)
		}
		k.node(c)
	}
}

// key adds an edit for a key that is not a string.
func (k *keyRewriter) key(n *yamlv3.Node) {
	written := n.Value
	if n.Kind == yamlv3.AliasNode {
		written = "*" + n.Value
	}
	begin := k.y.offset(n)
	end := begin + len(written)
	switch {
	case isStringKey(resolveAlias(n)):
		return
	case end > len(k.y.text) || string(k.y.text[begin:end]) != written:
		k.failed = true
		return
	}
	k.edits = append(k.edits, keyEdit{begin, end, keyText(n)})
}
