package workspace

import (
	"bytes"
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// repeated is an item of a list in YAML with duplicate keys, as JSON, or the error of its conversion.
type repeated struct {
	json []byte
	err  error
}

// withDuplicates returns the items of a list in YAML that have duplicate keys, which value.YAMLToJSON drops, by their
// index. Strict decoding then reports them as in a list in JSON.
func withDuplicates(list []byte) (map[int]repeated, error) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(list, &document); err != nil {
		return nil, err
	}
	found, root := map[int]repeated{}, document.Content[0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value != "items" {
			continue
		}
		clear(found) // the last field of the name counts
		for n, item := range root.Content[i+1].Content {
			if hasDuplicates(item) {
				text, err := appendJSON(nil, item)
				found[n] = repeated{text, err}
			}
		}
	}
	return found, nil
}

// hasDuplicates reports whether a mapping in a node has a key twice.
func hasDuplicates(n *yamlv3.Node) bool {
	known := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 {
			if known[child.Value] {
				return true
			}
			known[child.Value] = true
		}
		if hasDuplicates(child) {
			return true
		}
	}
	return false
}

// appendJSON appends a node as JSON with its duplicate keys.
func appendJSON(b []byte, n *yamlv3.Node) (_ []byte, err error) {
	separator := byte('[')
	switch {
	case !hasDuplicates(n):
		text, err := toJSON(n)
		return append(b, text...), err
	case n.Kind == yamlv3.SequenceNode:
		for _, item := range n.Content {
			if b, err = appendJSON(append(b, separator), item); err != nil {
				return nil, err
			}
			separator = ','
		}
		return append(b, ']'), nil
	}
	separator = '{'
	null := &yamlv3.Node{Kind: yamlv3.ScalarNode, Tag: "!!null", Value: "null"}
	for i := 0; i+1 < len(n.Content); i += 2 {
		member, err := toJSON(&yamlv3.Node{Kind: yamlv3.MappingNode, Content: []*yamlv3.Node{n.Content[i], null}})
		if err != nil {
			return nil, err
		}
		b = append(append(b, separator), bytes.TrimSuffix(member[1:], []byte("null}"))...)
		if b, err = appendJSON(b, n.Content[i+1]); err != nil {
			return nil, err
		}
		separator = ','
	}
	return append(b, '}'), nil
}

func toJSON(n *yamlv3.Node) ([]byte, error) {
	text, err := yamlv3.Marshal(n)
	if err == nil {
		text, err = sigsyaml.YAMLToJSON(text)
	}
	if err != nil { // such as an alias of an anchor elsewhere
		return nil, fmt.Errorf("line %d: remove duplicate keys, or aliases beside them: %w", n.Line, err)
	}
	return text, nil
}
