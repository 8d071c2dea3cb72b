package value

import (
	gojson "encoding/json"
	"maps"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
)

// repeated is a key that occurs again in its object.
type repeated struct {
	path Path
	at   Position // of the second key
}

// maxRepeated bounds the keys that are reported, as in upstream's strict decoder of JSON.
const maxRepeated = 100

// withRepeated returns JSON text that the YAML library made, which has each key once, with the repeated keys: each has
// another member, null, before that of the library.
func withRepeated(json []byte, all []repeated) []byte {
	d := Acquire()
	defer d.Release()
	root, err := d.Parse(json, Request, Limits{MaxBytes: maxSource})
	if err != nil {
		return json // the caller reports it
	}
	members := map[int][]byte{} // by the offset of their object
	finder := d.Finder()
	for _, r := range all {
		last := len(r.path) - 1
		if object := finder.Lookup(root, r.path[:last]); object != 0 && finder.Child(object, r.path[last]) != 0 {
			at := int(d.Nodes[object].Off)
			members[at] = append(appendString(members[at], r.path[last].Key(), false), ":null,"...)
		}
	}
	out, done := make([]byte, 0, len(json)+len(all)*32), 0
	for _, at := range slices.Sorted(maps.Keys(members)) {
		out = append(append(out, json[done:at+1]...), members[at]...)
		done = at + 1
	}
	return append(out, json[done:]...)
}

// repeatedOf returns the second of the keys that occur again in a source, by their path in the text of upstream.
func (d *Doc) repeatedOf(s Source) map[string]repeated {
	var all []repeated
	var from Path
	switch y, o := d.yaml[s], d.origins[s]; {
	case y != nil:
		all = y.repeated
	case o.Converted():
		all, from = o.from.y.repeated, o.path
	default:
		return d.repeatedIn(s)
	}
	found := map[string]repeated{}
	for _, r := range all {
		if len(r.path) > len(from) && slices.Equal(r.path[:len(from)], from) {
			own := r.path[len(from):]
			found[own.Dotted()] = repeated{own, r.at}
		}
	}
	return found
}

// findRepeated returns the keys that occur again in their mapping of the YAML text, each path once. Merge keys and what
// they merge do not count.
func (y *YAMLSource) findRepeated() []repeated {
	f := repeatedFinder{y: y, known: map[string]bool{}}
	f.node(y.tree(), nil)
	return f.found
}

// repeatedFinder collects the repeated keys of a tree.
type repeatedFinder struct {
	y     *YAMLSource
	found []repeated
	known map[string]bool // by path
}

func (f *repeatedFinder) node(n *yamlv3.Node, path Path) {
	if n == nil || len(f.found) >= maxRepeated {
		return
	}
	switch n.Kind {
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			f.node(item, append(path, At(i)))
		}
	case yamlv3.MappingNode:
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if isMerge(key) {
				f.merged(value, path)
				continue
			}
			name := keyText(key)
			at := append(path, Name(name))
			if seen[name] {
				f.add(at, key)
			}
			seen[name] = true
			f.node(value, at)
		}
	}
}

// merged searches the value of a merge key.
func (f *repeatedFinder) merged(n *yamlv3.Node, path Path) {
	if n.Kind != yamlv3.SequenceNode {
		f.node(n, path)
		return
	}
	for _, item := range n.Content {
		f.node(item, path)
	}
}

func (f *repeatedFinder) add(path Path, key *yamlv3.Node) {
	if text := path.Dotted(); !f.known[text] && len(f.found) < maxRepeated {
		f.known[text] = true
		f.found = append(f.found, repeated{path.Clone(), f.y.position(key)})
	}
}

// unquoted returns the content of a string in JSON.
func unquoted(text []byte) (s string) {
	_ = gojson.Unmarshal(text, &s) // it was parsed before
	return s
}

// repeatedIn returns the second of the keys that occur again in the JSON text of a source, by path.
func (d *Doc) repeatedIn(s Source) map[string]repeated {
	found := map[string]repeated{}
	text, path := d.Src[s], Path(nil)
	var value func(i int) int
	value = func(i int) int {
		if i = skipSpace(text, i); i >= len(text) || text[i] != '{' && text[i] != '[' {
			return skipValue(text, i)
		}
		object, seen := text[i] == '{', map[string]bool{}
		for n := 0; ; n++ {
			if i = skipSpace(text, i+1); text[i] == '}' || text[i] == ']' {
				return i + 1
			}
			step := At(n)
			if object {
				end := skipString(text, i+1)
				name := unquoted(text[i:end])
				step = Name(name)
				if path = append(path, step); seen[name] {
					dotted := path.Dotted()
					if _, known := found[dotted]; !known && len(found) < maxRepeated {
						found[dotted] = repeated{path.Clone(), d.positionOf(s, uint32(i), nil)}
					}
				}
				seen[name] = true
				i = skipSpace(text, end) + 1
			} else {
				path = append(path, step)
			}
			i = skipSpace(text, value(i))
			path = path[:len(path)-1]
			if text[i] != ',' {
				return i + 1
			}
		}
	}
	value(0)
	return found
}
