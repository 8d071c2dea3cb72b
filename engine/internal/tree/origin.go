package tree

import (
	"errors"
	"slices"
	"sync"
)

// Origin is where a document is in a Text. Positions in the document are then positions in the Text, and YAML is read as
// a manifest. Nothing is computed until a position is asked for. It is safe for concurrent use.
type Origin struct {
	text  *Text
	begin int           // of the document in the text
	from  *ManifestText // of a document that was converted to JSON, else nil
	path  Path          // of the document in the conversion; nil: it begins at the offset value of its JSON
	value int
}

// At returns the Origin of a document whose text is a part of the Text.
func (t *Text) At(offset int) *Origin { return &Origin{text: t, begin: offset} }

// Text returns the Text. It returns nil for a nil Origin, of a document that could not be read.
func (o *Origin) Text() *Text {
	if o == nil {
		return nil
	}
	return o.text
}

// Converted reports whether the document was converted from YAML to JSON.
func (o *Origin) Converted() bool { return o != nil && o.from != nil }

// Begin returns the offset of the document in the Text, 0 for a nil Origin.
func (o *Origin) Begin() int {
	switch {
	case o == nil:
		return 0
	case o.from != nil:
		return o.text.Index(o.from.position(o.place(), nil))
	}
	return o.begin
}

// place returns the path of the document in the conversion.
func (o *Origin) place() Path {
	if o.value == 0 {
		return o.path
	}
	return o.from.pathAt(o.value)
}

// Follow returns the position of a JSON pointer in a document that was converted, or of its deepest existing parent.
func (o *Origin) Follow(pointer string) Position {
	path := o.place()
	o.from.mu.Lock()
	defer o.from.mu.Unlock()
	return o.from.y.Follow(path, pointer)
}

// at returns the position of a byte of a document that was not converted.
func (o *Origin) at(offset int) Position { return o.text.Position(o.begin + offset) }

// Locate makes the position of a *SyntaxError in the document one in the Text. It returns the error.
func (o *Origin) Locate(err error) error {
	var syntax *SyntaxError
	if o == nil || !errors.As(err, &syntax) || syntax.located {
		return err
	}
	located := *syntax
	located.located = true
	switch {
	case o.from != nil:
		p := o.from.position(o.place(), nil)
		located.Offset, located.Line, located.Column = p.Offset, p.Line, p.Column
	case syntax.Offset >= 0:
		p := o.at(syntax.Offset)
		located.Offset, located.Line, located.Column = p.Offset, p.Line, p.Column
	case syntax.Line > 0:
		located.Line += o.at(0).Line - 1
	}
	return &located
}

// ConvertJSONPart is ConvertPart for a document in JSON, for its values that become documents without being parts of the
// Text.
func ConvertJSONPart(t *Text, begin, end int, l Limits) (json []byte, c *ManifestText, err error) {
	o, json := t.At(begin), t.bytes[begin:end]
	d := Acquire()
	defer d.Release()
	if _, err = d.ParseAt(json, Request, o, l); err != nil {
		return nil, nil, err
	}
	y := &YAMLSource{text: json, origin: o, json: json}
	for i := range d.Nodes[1:] {
		n := &d.Nodes[1+i]
		y.places = append(y.places, place{key: noKey, value: n.Off})
		if n.KeyLen > 0 && n.KeySrc == n.Src {
			y.places[i].key = n.Key - 1
		}
	}
	for duplicate := range d.Duplicates(Request) {
		y.repeated = append(y.repeated, duplicate.Places...)
	}
	return json, &ManifestText{text: t, begin: begin, y: y, json: json}, nil
}

// ManifestText is a YAML document of a Text that was converted to JSON. Its documents can be used concurrently.
type ManifestText struct {
	text  *Text
	begin int
	json  []byte
	mu    sync.Mutex
	y     *YAMLSource

	doc   *Doc // of json, on first use
	last  Path // the last result of pathAt
	value int  // its argument
}

// ConvertPart converts the YAML document at [begin, end) of a Text to JSON as clients convert manifests.
func ConvertPart(t *Text, begin, end int, l Limits) (json []byte, c *ManifestText, err error) {
	o, src := t.At(begin), endLine(t.bytes[begin:end])
	y, ok := (*YAMLSource)(nil), false
	if l = l.WithDefaults(); len(src) <= l.MaxBytes {
		y, ok = scanOrdinary(src, l)
	}
	if ok {
		json, y.origin = y.json, o
	} else if json, y, err = convertManifest(src, o, l); err != nil {
		return nil, nil, err
	}
	return json, &ManifestText{text: t, begin: begin, y: y, json: json}, nil
}

// At returns the Origin of the value at a path, as a document in JSON.
func (c *ManifestText) At(path Path) *Origin {
	return &Origin{text: c.text, begin: c.begin, from: c, path: path}
}

// AtOffset returns the Origin of the value that begins at an offset of the JSON, as a document in JSON.
func (c *ManifestText) AtOffset(offset int) *Origin {
	return &Origin{text: c.text, begin: c.begin, from: c, value: offset}
}

// pathAt returns the path of the value that begins at an offset of the JSON.
func (c *ManifestText) pathAt(offset int) Path {
	c.mu.Lock()
	defer c.mu.Unlock()
	if offset == c.value {
		return c.last
	}
	if f := c.y.scan(); c.doc == nil && f != nil {
		c.doc = f.d
	} else if c.doc == nil {
		c.doc = new(Doc)
		_, _ = c.doc.Parse(c.json, Request, Limits{MaxBytes: maxSource}) // if the caller has changed it, the path is empty
	}
	var path Path
	for node := c.doc.Root(Request); node != 0; {
		of := &c.doc.Nodes[node]
		if int(of.Off) >= offset {
			break
		}
		for node = of.First; node != 0 && int(c.doc.Nodes[node].End) <= offset; {
			node = c.doc.Nodes[node].Next
		}
		if node != 0 && of.Kind == Array {
			path = append(path, At(int(c.doc.Nodes[node].Key)))
		} else if node != 0 {
			path = append(path, Name(c.doc.Key(node)))
		}
	}
	c.last, c.value = path, offset
	return path
}

// DuplicatesOutside returns the places of the duplicate keys that are in none of the values at these paths.
func (c *ManifestText) DuplicatesOutside(paths []Path) (found []DuplicatePlace) {
	for _, r := range c.y.repeated {
		if !slices.ContainsFunc(paths, func(p Path) bool { return len(r.Path) > len(p) && slices.Equal(r.Path[:len(p)], p) }) {
			found = append(found, r)
		}
	}
	return found
}

// position returns the position of a path in the value at a path.
func (c *ManifestText) position(of, path Path) Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.y.Position(of.With(path...))
}

// keyPosition returns the position of the key of a member. path is its path in the value at a path.
func (c *ManifestText) keyPosition(of, path Path) Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.y.KeyPosition(of.With(path...))
}
