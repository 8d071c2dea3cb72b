package value

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
}

// duplicatePlaces returns the places of the duplicate keys of a source by their paths as upstream writes them.
func (d *Doc) duplicatePlaces(s Source) map[string]DuplicatePlace {
	switch y, o := d.yaml[s], d.origins[s]; {
	case y != nil:
		return placesBelow(y.repeated, nil)
	case o.Converted():
		return placesBelow(o.from.y.repeated, o.path)
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
	place := DuplicatePlace{Path: found.path, Position: y.position(found.key)}
	if found.before != nil {
		place.Before = y.position(found.before)
	}
	return place
}
