package value

import (
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// RepeatedKey is a member whose key its object has set before.
type RepeatedKey struct {
	// Text is upstream's text for the key: duplicate field "spec.a". For YAML it is a line of the YAML library's text:
	// line 2: key "a" already set in map.
	Text string
	// Path leads to the member. It is nil if it is not known.
	Path Path
	// Position is the position of the key, or the line of the text if the key is not known.
	Position Position
	// Before is the position of the key that was set before, or the zero Position.
	Before Position
}

// RepeatedKeys returns the duplicate keys of the text last parsed from the source, in document order, with their
// positions. Unlike Duplicates it also has those of JSON that an API server does not report. It must be called before
// the tree is edited.
func (d *Doc) RepeatedKeys(s Source) []RepeatedKey {
	if y := d.yaml[s]; y != nil {
		return y.repeatedKeys()
	}
	if d.duplicates[s] == 0 || s == Arena {
		return nil
	}
	var found []RepeatedKey
	type member struct {
		object uint32
		key    string
	}
	var around []uint32 // the open containers
	last := map[member]uint32{}
	for i := d.roots[s]; i != 0 && int(i) < len(d.Nodes); i++ {
		n := &d.Nodes[i]
		if n.Src != s {
			break
		}
		for len(around) > 0 && d.Nodes[around[len(around)-1]].End <= n.Off {
			around = around[:len(around)-1]
		}
		if len(around) > 0 && d.Nodes[around[len(around)-1]].Kind == Object {
			m := member{around[len(around)-1], d.Key(i)}
			if before := last[m]; before != 0 {
				path := d.pathThrough(around, i)
				found = append(found, RepeatedKey{Text: `duplicate field "` + path.Dotted() + `"`, Path: path,
					Position: d.KeyPosition(i), Before: d.KeyPosition(before)})
			}
			last[m] = i
		}
		if n.Kind >= Array {
			around = append(around, i)
		}
	}
	return found
}

// pathThrough returns the path to a node below open containers. The first container is the root.
func (d *Doc) pathThrough(around []uint32, node uint32) (p Path) {
	for k, container := range around {
		next := node
		if k+1 < len(around) {
			next = around[k+1]
		}
		if d.Nodes[container].Kind == Array {
			p = append(p, At(int(d.Nodes[next].Key)))
		} else {
			p = append(p, Name(strings.Clone(d.Key(next))))
		}
	}
	return p
}

// duplicateKey matches a line of the YAML library's error. Its line is that of the value.
var duplicateKey = regexp.MustCompile(`^line (\d+): key (.*) already set in map$`)

// repeatedKeys returns the keys that the error of the strict conversion names.
func (y *YAMLSource) repeatedKeys() (found []RepeatedKey) {
	if y.strict == nil {
		return nil
	}
	y.indexLines()
	for line := range strings.Lines(y.strict.Error()) {
		at := RepeatedKey{Text: strings.TrimSpace(line)}
		m := duplicateKey.FindStringSubmatch(at.Text)
		if m == nil {
			if !strings.HasSuffix(at.Text, "unmarshal errors:") { // the first line
				found = append(found, at)
			}
			continue
		}
		n, _ := strconv.Atoi(m[1])
		key, err := strconv.Unquote(m[2])
		if err != nil {
			key = m[2]
		}
		if 0 < n && n <= len(y.index.lines) {
			at.Position = Position{Line: n, Column: 1, Offset: int(y.index.lines[n-1])}
		}
		y.findRepeated(y.tree(), nil, n, key, &at)
		found = append(found, at)
	}
	return found
}

// findRepeated looks for a member with a key whose value begins in a line.
func (y *YAMLSource) findRepeated(n *yamlv3.Node, path Path, line int, key string, at *RepeatedKey) bool {
	switch {
	case n == nil:
	case n.Kind == yamlv3.SequenceNode:
		for i, item := range n.Content {
			if y.findRepeated(item, append(path, At(i)), line, key, at) {
				return true
			}
		}
	case n.Kind == yamlv3.MappingNode:
		var before *yamlv3.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			name, inner := n.Content[i], n.Content[i+1]
			text := keyText(name)
			if text == key {
				if inner.Line == line {
					at.Path, at.Position = path.With(Name(text)), y.position(name)
					if before != nil {
						at.Before = y.position(before)
					}
					return true
				}
				before = name
			}
			if y.findRepeated(inner, append(path, Name(text)), line, key, at) {
				return true
			}
		}
	}
	return false
}

// PlainKey returns the key of the member at a path as a YAML text writes it, if it is not quoted. It returns "" for
// other keys and for JSON. YAML 1.1 can read another key: y is true, and 1.50 is 1.5.
func (d *Doc) PlainKey(p Path) string {
	y := d.yaml[Request]
	if y == nil {
		return ""
	}
	at := y.KeyPosition(p)
	if at == (Position{}) || at.Offset >= len(y.text) {
		return ""
	}
	line, _, _ := strings.Cut(string(y.text[at.Offset:min(len(y.text), at.Offset+longestPlainKey)]), "\n")
	for i := range len(line) {
		if line[i] == ':' && (i+1 == len(line) || strings.IndexByte(" \t\r", line[i+1]) >= 0) {
			line = line[:i]
			break
		}
	}
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line, " \t\"'") || strings.ContainsAny(line[:1], "&*!|>{[%@`?") {
		return ""
	}
	return line
}

// longestPlainKey bounds the bytes that PlainKey reads.
const longestPlainKey = 64
