package tree

import (
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// DuplicatePlace is the place of the second key of a Duplicate. Without a Path, only the line is known.
type DuplicatePlace struct {
	Path     Path
	Position Position
	// Before is the position of the key that was set before, or the zero Position if it is not known.
	Before Position
	// Written and WrittenBefore are the two keys as the YAML text writes them, for keys that only become equal when they
	// are converted to JSON: yes and on, or "8" and 8. Otherwise, they are empty.
	Written, WrittenBefore string
	// SameText reports whether Written and WrittenBefore differ in their quotes only.
	SameText bool
}

// repeatedAt returns the place of a key that is set again.
func (y *YAMLSource) repeatedAt(path Path, key, before *yamlv3.Node) DuplicatePlace {
	place := DuplicatePlace{Path: path, Position: y.position(key)}
	if before == nil {
		return place
	}
	place.Before = y.position(before)
	key, before = resolveAlias(key), resolveAlias(before)
	if same := key.Value == before.Value; !same || isStringKey(key) != isStringKey(before) {
		place.Written, place.WrittenBefore, place.SameText = writtenKey(key), writtenKey(before), same
	}
	return place
}

// writtenKey returns a key as a YAML text can write it.
func writtenKey(n *yamlv3.Node) string {
	if n.Style&quotedStyle != 0 {
		return strconv.Quote(n.Value)
	}
	return n.Value
}

// isStringKey reports whether a key is a string before it becomes one in JSON.
func isStringKey(n *yamlv3.Node) bool {
	switch {
	case n.Style&yamlv3.TaggedStyle != 0:
		return n.Tag == "!!str"
	case n.Style&quotedStyle != 0 || n.Value == "":
		return true
	}
	return new(yamlScanner).resolve([]byte(n.Value)) == String
}

func resolveAlias(n *yamlv3.Node) *yamlv3.Node {
	for n.Kind == yamlv3.AliasNode {
		n = n.Alias
	}
	return n
}

// duplicatePlaces returns the places of the duplicate keys of a source by their paths as upstream writes them.
func (d *Doc) duplicatePlaces(s Source) map[string]DuplicatePlace {
	switch y, o := d.yaml[s], d.origins[s]; {
	case y != nil:
		return placesBelow(y.repeated, nil)
	case o.Converted():
		return placesBelow(o.from.y.repeated, o.place())
	}
	all := Acquire()
	defer all.Release()
	all.keepDuplicates = true
	if d.work != nil {
		all.StopOn(d.work)
	}
	root, err := all.Parse(d.Src[s], Request, Limits{MaxBytes: maxSource})
	if err != nil {
		return nil
	}
	places := map[string]DuplicatePlace{}
	var walk func(node uint32, at Path)
	walk = func(node uint32, at Path) {
		isObject, seen, i := all.Nodes[node].Kind == Object, map[string]uint32{}, 0
		for c := all.Nodes[node].First; c != 0; c, i = all.Nodes[c].Next, i+1 {
			here := at.With(At(i))
			if isObject {
				key := all.Key(c)
				here[len(at)] = Name(key)
				if before := seen[key]; before != 0 {
					if text := here.Dotted(); places[text].Path == nil {
						places[text] = DuplicatePlace{Path: here.Detach(), Position: d.positionOf(s, all.keyOffset(c), nil),
							Before: d.positionOf(s, all.keyOffset(before), nil)}
					}
				}
				seen[key] = c
			}
			if all.Nodes[c].First != 0 {
				walk(c, here)
			}
		}
	}
	walk(root, nil)
	return places
}

// keyOffset returns the offset that KeyPosition is about.
func (d *Doc) keyOffset(i uint32) uint32 {
	if n := &d.Nodes[i]; n.KeyLen == 0 || n.KeySrc != n.Src {
		return n.Off
	}
	return d.Nodes[i].Key - 1
}

// yamlKey is a key of a YAML text.
type yamlKey struct {
	path   Path
	key    *yamlv3.Node
	before *yamlv3.Node // the same key before, or nil
}

// duplicatePlaces returns a place for each line of StrictError after the first one.
func (y *YAMLSource) duplicatePlaces() []DuplicatePlace {
	keys := map[int][]yamlKey{} // by the line of the value, which is that of the error
	var walk func(n *yamlv3.Node, at Path)
	walk = func(n *yamlv3.Node, at Path) {
		seen := map[string]*yamlv3.Node{}
		for i := 0; i < len(n.Content); i++ {
			c := n.Content[i]
			if n.Kind != yamlv3.MappingNode {
				walk(c, at.With(At(i)))
				continue
			}
			i++
			text := keyText(c)
			here, line := at.With(Name(text)), n.Content[i].Line
			keys[line] = append(keys[line], yamlKey{here, c, seen[text]})
			seen[text] = c
			walk(n.Content[i], here)
		}
	}
	if root := y.tree(); root != nil {
		walk(root, nil)
	}
	var places []DuplicatePlace
	for _, text := range strings.Split(y.strict.Error(), "\n")[1:] {
		places = append(places, y.duplicatePlace(strings.TrimSpace(text), keys))
	}
	return places
}

// duplicatePlace returns the place of one line of StrictError.
func (y *YAMLSource) duplicatePlace(text string, keys map[int][]yamlKey) DuplicatePlace {
	m := yamlLine.FindStringSubmatch(text)
	if m == nil {
		return DuplicatePlace{}
	}
	line, _ := strconv.Atoi(m[1])
	found := yamlKey{}
	for _, k := range keys[line] {
		name := k.path[len(k.path)-1].Key()
		same := strings.Contains(text, "key "+strconv.Quote(name)+" ") || strings.Contains(text, "key "+name+" ")
		if same && (found.key == nil || k.before != nil && found.before == nil) {
			found = k
		}
	}
	if found.key == nil {
		y.indexLines()
		if line < 1 || line > len(y.index.lines) {
			return DuplicatePlace{}
		}
		return DuplicatePlace{Position: y.at(y.index.lines[line-1])}
	}
	return y.repeatedAt(found.path, found.key, found.before)
}
