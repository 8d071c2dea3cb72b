package gateway

import (
	"bytes"
	"fmt"

	"google.golang.org/grpc/codes"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// ListLimit is how many elements a list of a request may have, and what that limit is called.
type ListLimit struct {
	Name    string
	Maximum int
}

// DefaultLists are the limits of a server that nobody configured.
func DefaultLists() map[string]ListLimit {
	return map[string]ListLimit{
		"items": {"max_batch_items", 1000}, "crds": {"max_inline_crds", 16}, "entries": {"max_register_crds", 1000},
		"objects": {"max_batch_items", 1000}, "storedVersions": {"max_stored_versions", 1000},
	}
}

// A listError is a list with more elements than its limit. They are not counted.
type listError struct {
	field string
	limit ListLimit
}

// Error names the limit.
func (e *listError) Error() string {
	return fmt.Sprintf("there are more %s than the limit %s, which is %d: send them in several calls", e.field, e.limit.Name, e.limit.Maximum)
}

// MaxYAMLNodes bounds a YAML body that is turned into JSON. Two bytes may be a node, and a node takes some hundred while it is read.
const MaxYAMLNodes = 500_000

// yamlNodeBytes is the room that a node takes among the bodies.
const yamlNodeBytes = 256

// boundYAML refuses a YAML body by its text alone that has too many elements in a list, too many nodes, or too many for the memory that is
// left beside other bodies. It takes room for the nodes.
func (b *body) boundYAML() error {
	for name, limit := range b.lists {
		if blockEntries(b.data, name, limit.Maximum) {
			return &listError{name, limit}
		}
	}
	return b.boundNodes()
}

// boundNodes is boundYAML without a look at lists.
func (b *body) boundNodes() error {
	nodes := yamlNodes(b.data)
	if nodes > MaxYAMLNodes {
		return failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
			fmt.Sprintf("the body has about %d YAML nodes (lines and entries of flow collections), and the limit max_yaml_nodes is %d: send fewer items in a call, or JSON",
				nodes, MaxYAMLNodes),
			map[string]string{"limit": "max_yaml_nodes", "maximum": fmt.Sprint(MaxYAMLNodes), "actual": fmt.Sprint(nodes)})
	}
	if b.held == nil {
		return nil
	}
	return b.held.take(min(int64(nodes)*yamlNodeBytes, b.held.of.max/4))
}

// yamlNodes is about how many nodes a YAML text has, rather too many than too few: each needs a line, a comma, a bracket or an indicator
// of its own.
func yamlNodes(text []byte) int {
	nodes := 1
	for _, sign := range []string{"\n", "\r", ",", "[", "{", "- ", "? "} {
		nodes += bytes.Count(text, []byte(sign))
	}
	return nodes
}

// blockEntries says whether the block sequence that is the value of a key at the margin has more than most entries. It reads lines, not
// YAML: entries are the lines that begin with a dash at the indentation of the first one.
func blockEntries(text []byte, key string, most int) bool {
	at := 0
	if !bytes.HasPrefix(text, []byte(key+":")) {
		if at = bytes.Index(text, []byte("\n"+key+":")) + 1; at == 0 {
			return false
		}
	}
	indentation, count := -1, 0
	first := true
	for line := range bytes.Lines(text[at:]) {
		if first {
			first = false
			continue
		}
		content := bytes.TrimLeft(line, " ")
		depth := len(line) - len(content)
		content = bytes.TrimRight(content, "\r\n")
		switch isEntry := len(content) > 0 && content[0] == '-' && (len(content) == 1 || content[1] == ' ' || content[1] == '\t'); {
		case len(content) == 0 || content[0] == '#':
		case indentation < 0 && !isEntry:
			return false
		case indentation < 0 || depth == indentation && isEntry:
			indentation = depth
			if count++; count > most {
				return true
			}
		case depth <= indentation:
			return false
		}
	}
	return false
}
