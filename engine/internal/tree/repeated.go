package tree

import (
	"maps"
	"slices"

	yamlv3 "go.yaml.in/yaml/v3"
)

// maxRepeated bounds the keys that are reported, as in upstream's strict decoder of JSON.
const maxRepeated = 100

// withRepeated returns JSON text that the YAML library made, which has each key once, with the repeated keys: each has
// another member, null, before that of the library.
func withRepeated(json []byte, all []DuplicatePlace) []byte {
	d := Acquire()
	defer d.Release()
	root, err := d.Parse(json, Request, Limits{MaxBytes: maxSource})
	if err != nil {
		return json // the caller reports it
	}
	members := map[int][]byte{} // by the offset of their object
	finder := d.Finder()
	for _, r := range all {
		last := len(r.Path) - 1
		if object := finder.Lookup(root, r.Path[:last]); object != 0 && finder.Child(object, r.Path[last]) != 0 {
			at := int(d.Nodes[object].Off)
			members[at] = append(appendString(members[at], r.Path[last].Key(), false), ":null,"...)
		}
	}
	out, done := make([]byte, 0, len(json)+len(all)*32), 0
	for _, at := range slices.Sorted(maps.Keys(members)) {
		out = append(append(out, json[done:at+1]...), members[at]...)
		done = at + 1
	}
	return append(out, json[done:]...)
}

// placesBelow returns the keys below a path by their paths relative to it, as upstream writes them.
func placesBelow(all []DuplicatePlace, path Path) map[string]DuplicatePlace {
	found := map[string]DuplicatePlace{}
	for _, r := range all {
		if len(r.Path) > len(path) && slices.Equal(r.Path[:len(path)], path) {
			own := r.Path[len(path):]
			r.Path = own
			found[own.Dotted()] = r
		}
	}
	return found
}

// findRepeated returns the keys that occur again in their mapping of the YAML text, each path once. Merge keys and what
// they merge do not count.
func (y *YAMLSource) findRepeated() []DuplicatePlace {
	f := repeatedFinder{y: y, known: map[string]bool{}}
	f.node(y.tree(), nil)
	return f.found
}

// repeatedFinder collects the repeated keys of a tree.
type repeatedFinder struct {
	y     *YAMLSource
	found []DuplicatePlace
	known map[string]bool // by path
}

func (f *repeatedFinder) node(n *yamlv3.Node, path Path) {
	if n == nil || len(f.found) >= maxRepeated {
		return
	}
	switch n.Kind {
	case yamlv3.SequenceNode:
		for i, item := range n.Content {
			f.node(item, path.With(At(i)))
		}
	case yamlv3.MappingNode:
		seen := make(map[string]*yamlv3.Node, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := n.Content[i], n.Content[i+1]
			if isMerge(key) {
				f.merged(value, path)
				continue
			}
			name := keyText(key)
			at := path.With(Name(name))
			if before := seen[name]; before != nil {
				f.add(at, key, before)
			}
			seen[name] = key
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

func (f *repeatedFinder) add(path Path, key, before *yamlv3.Node) {
	if text := path.Dotted(); !f.known[text] && len(f.found) < maxRepeated {
		f.known[text] = true
		f.found = append(f.found, f.y.repeatedAt(path.Clone(), key, before))
	}
}
