package tree

import (
	"bytes"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
	yamlv3 "go.yaml.in/yaml/v3"
)

// place sets the position of an error of the YAML library in the text that was parsed. The library has at most a line,
// which is not always the right one.
func (e *SyntaxError) place(text []byte) *SyntaxError {
	y := &YAMLSource{text: text}
	y.indexLines()
	message, _ := e.message()
	offset, found := offender(text, message)
	if !found {
		offset, found = y.invalidNode(message)
	}
	if !found && len(text) <= maxSearched {
		offset = y.shortest(message)
	} else if !found {
		offset = y.lineBegin(min(max(e.Line, 1), len(y.index.lines)))
	}
	at := y.at(uint32(offset))
	e.Line, e.Column, e.Offset = at.Line, at.Column, at.Offset
	return e
}

// alias matches the error about an alias without an anchor.
var alias = regexp.MustCompile(`unknown anchor '([^']*)' referenced`)

// encoding begins the errors about a byte or a character.
var encoding = []string{"invalid leading UTF-8", "invalid trailing UTF-8", "incomplete UTF-8", "invalid length of a UTF-8",
	"invalid Unicode", "control characters"}

// offender returns the offset of the character that an error is about.
func offender(text []byte, message string) (offset int, found bool) {
	for _, prefix := range encoding {
		for at := 0; strings.HasPrefix(message, prefix) && at < len(text); {
			r, size := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && size == 1 || r < ' ' && r != '\t' && r != '\n' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85 {
				return at, true
			}
			at += size
		}
	}
	return 0, false
}

// invalidNode returns the offset of the node that has no JSON, for an error after parsing.
func (y *YAMLSource) invalidNode(message string) (offset int, found bool) {
	var isInvalid func(key, value *yamlv3.Node) *yamlv3.Node // returns the node, or nil
	switch {
	case strings.HasPrefix(message, "invalid map key"):
		isInvalid = func(key, _ *yamlv3.Node) *yamlv3.Node {
			if key != nil && target(key).Kind != yamlv3.ScalarNode {
				return key
			}
			return nil
		}
	case strings.HasPrefix(message, "unsupported map key"):
		isNull := strings.Contains(message, "<nil>")
		isInvalid = func(key, _ *yamlv3.Node) *yamlv3.Node {
			if key == nil || isNull && target(key).Tag != "!!null" || !isNull && target(key).Tag != "!!int" {
				return nil
			}
			if _, err := strconv.ParseInt(keyText(key), 10, 64); !isNull && err == nil {
				return nil
			}
			return key
		}
	case strings.HasPrefix(message, "json: unsupported value"):
		isInvalid = func(_, value *yamlv3.Node) *yamlv3.Node {
			if text := strings.ToLower(value.Value); value.Tag == "!!float" && (strings.HasSuffix(text, ".nan") || strings.HasSuffix(text, ".inf")) {
				return value
			}
			return nil
		}
	case strings.HasPrefix(message, "map merge requires"):
		isInvalid = func(key, value *yamlv3.Node) *yamlv3.Node {
			if key != nil && isMerge(key) && !merges(target(value)) {
				return value
			}
			return nil
		}
	default:
		return 0, false
	}
	var walk func(key, n *yamlv3.Node) *yamlv3.Node
	walk = func(key, n *yamlv3.Node) *yamlv3.Node {
		if at := isInvalid(key, n); at != nil {
			return at
		}
		for i := 0; i < len(n.Content); i++ {
			var key *yamlv3.Node
			if n.Kind == yamlv3.MappingNode {
				key = n.Content[i]
				i++
			}
			if at := walk(key, n.Content[i]); at != nil {
				return at
			}
		}
		return nil
	}
	root := y.tree()
	if root == nil {
		return 0, false
	}
	at := walk(nil, root)
	if at == nil {
		return 0, false
	}
	return y.offset(at), true
}

// target returns the node of an alias, or the node itself.
func target(n *yamlv3.Node) *yamlv3.Node {
	for n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	return n
}

// merges reports whether a merge key can have a value.
func merges(n *yamlv3.Node) bool {
	if n.Kind != yamlv3.SequenceNode {
		return n.Kind == yamlv3.MappingNode
	}
	for _, item := range n.Content {
		if target(item).Kind != yamlv3.MappingNode {
			return false
		}
	}
	return true
}

// maxSearched is the length of the longest text in which shortest searches.
const maxSearched = 1 << 17

// shortest returns the offset of the line with which the shortest text ends that has the same error. In this line, it
// is that of the character if a character is wrong.
func (y *YAMLSource) shortest(message string) int {
	fails := func(end int) bool {
		_, err := convert(y.text[:end], func(text []byte) ([]byte, error) {
			ignored := struct{}{}
			return nil, yamlv2.Unmarshal(text, &ignored)
		})
		if err == nil {
			return false
		}
		got, _ := (&SyntaxError{Text: err.Error()}).message()
		return got == message
	}
	lines := y.index.lines
	end := func(line int) int { // of a line, from 1
		if line < len(lines) {
			return int(lines[line])
		}
		return len(y.text)
	}
	line := 1 + sort.Search(len(lines)-1, func(k int) bool { return fails(end(k + 1)) })
	begin := y.lineBegin(line)
	if m := alias.FindStringSubmatch(message); m != nil {
		return begin + max(0, bytes.Index(y.text[begin:end(line)], []byte("*"+m[1])))
	}
	for _, exact := range []string{"found character that cannot", "mapping values are not", "found unknown escape", "found unexpected"} {
		if strings.HasPrefix(message, exact) {
			row := y.text[begin:end(line)]
			return begin + max(0, sort.Search(len(row), func(k int) bool { return fails(begin + k) })-1)
		}
	}
	return begin
}

// lineBegin returns the offset of the first character of a line, or of the last line before it that has content.
func (y *YAMLSource) lineBegin(line int) int {
	row := func() []byte {
		end := len(y.text)
		if line < len(y.index.lines) {
			end = int(y.index.lines[line])
		}
		return y.text[y.index.lines[line-1]:end]
	}
	for line > 1 && !HasContent(row()) {
		line--
	}
	text := row()
	return int(y.index.lines[line-1]) + len(text) - len(bytes.TrimLeft(text, " "))
}
