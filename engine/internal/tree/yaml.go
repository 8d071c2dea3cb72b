package tree

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	sigsyaml "sigs.k8s.io/yaml"
)

// ParseYAML parses one YAML document into the Doc as YAMLToJSON converts it, and returns its root. Positions are those
// of the YAML text.
func (d *Doc) ParseYAML(src []byte, s Source, l Limits) (root uint32, err error) {
	_, _, root, err = d.ConvertYAML(src, s, nil, l)
	return root, err
}

// ConvertYAML is ParseYAML and YAMLToJSON in one. It returns the JSON text even if the Doc cannot parse it. Both
// are valid until the Doc parses other YAML for the source. The YAMLSource is also invalid after Release. With an
// Origin, the text is read as a manifest, and the positions are those in the Text of the Origin.
func (d *Doc) ConvertYAML(src []byte, s Source, o *Origin, l Limits) (json []byte, y *YAMLSource, root uint32, err error) {
	if o != nil {
		src = endLine(src)
	}
	if l = l.WithDefaults(); len(src) <= l.MaxBytes {
		var ok bool
		if y, root, ok, err = d.scanYAML(src, s, l.MaxDepth); ok {
			y.origin = o
			return y.json, y, root, nil
		} else if err != nil {
			return nil, nil, 0, err
		}
	}
	if o == nil {
		json, y, err = convertYAML(src, l)
	} else {
		json, y, err = convertManifest(src, o, l)
	}
	if err == nil {
		root, err = d.ParseFromYAML(json, y, s, l)
	}
	return json, y, root, o.Locate(err)
}

// ParseAt is Parse for a document with an Origin, which may be nil.
func (d *Doc) ParseAt(src []byte, s Source, o *Origin, l Limits) (root uint32, err error) {
	if root, err = d.Parse(src, s, l); err != nil {
		return 0, o.Locate(err)
	}
	d.origins[s] = o
	return root, nil
}

// ParseFromYAML parses the result of YAMLToJSON. It is for documents that are parsed more than once.
func (d *Doc) ParseFromYAML(json []byte, y *YAMLSource, s Source, l Limits) (root uint32, err error) {
	l.MaxBytes = maxSource // YAMLToJSON has already checked the size
	root, err = d.Parse(json, s, l)
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		// Too deep for upstream's JSON decoder. The offset refers to JSON that the caller has never seen.
		syntax.Offset, syntax.Line, syntax.Column = -1, 0, 0
	}
	if err == nil {
		d.yaml[s] = y
	}
	return root, err
}

// YAMLToJSON converts one YAML document into JSON with the values that sigs.k8s.io/yaml, and so an API server, gives
// it: YAML 1.1 scalars (on is true, 017 is 15, 1.0 is the integer 1), keys converted to strings, merge keys applied. An
// empty text is null. Keys are sorted. The YAMLSource finds positions.
//
// The error is a *LimitError (size, or depth and size with expanded aliases) or a *SyntaxError with the YAML library's
// text. Text after the document, such as a second one, is a *SyntaxError too. Upstream ignores it.
func YAMLToJSON(src []byte, l Limits) (json []byte, y *YAMLSource, err error) {
	if l = l.WithDefaults(); len(src) <= l.MaxBytes {
		if y, ok := scanOrdinary(src, l); ok {
			return y.json, y, nil
		}
	}
	return convertYAML(src, l)
}

// scanOrdinary returns the source of an ordinary document. ok is false on a doubt.
func scanOrdinary(src []byte, l Limits) (y *YAMLSource, ok bool) {
	d := Acquire()
	defer d.Release()
	scan, _, ok, _ := d.scanYAML(src, Request, l.MaxDepth)
	if !ok {
		return nil, false
	}
	return &YAMLSource{text: src, json: bytes.Clone(scan.json), places: slices.Clone(scan.places)}, true
}

// convertYAML is YAMLToJSON with the YAML library, which decides on the meaning of all documents.
func convertYAML(src []byte, l Limits) (json []byte, y *YAMLSource, err error) {
	if json, y, err = convertFirst(src, l); err != nil {
		return nil, nil, err
	}
	if line, more := secondDocument(y.text); more {
		y.indexLines()
		at := y.at(uint32(y.lineBegin(line)))
		return nil, nil, &SyntaxError{Offset: at.Offset, Line: at.Line, Column: at.Column,
			Text: fmt.Sprintf("yaml: line %d: a second document begins here; send one document at a time", line)}
	}
	return json, y, nil
}

// convertManifest is convertYAML as clients convert manifests before they send JSON: text after the first document is
// ignored, and a key may override a merged key. Duplicates reports the other duplicate keys.
func convertManifest(src []byte, o *Origin, l Limits) (json []byte, y *YAMLSource, err error) {
	if json, y, err = convertFirst(endLine(src), l); err != nil {
		return nil, nil, o.Locate(err)
	}
	y.origin = o
	if y.strict != nil || hasConvertedKeys(json) {
		y.strict, y.repeated = nil, y.findRepeated()
		json = withRepeated(json, y.repeated)
	}
	return json, y, nil
}

// endLine returns a manifest whose last line ends with a line break if that could matter: in a block scalar. Clients
// read files by line.
func endLine(src []byte) []byte {
	if len(src) == 0 || src[len(src)-1] == '\n' || !bytes.ContainsAny(src, "|>") {
		return src
	}
	return append(src[:len(src):len(src)], '\n')
}

// convertFirst converts the first document of a text.
func convertFirst(src []byte, l Limits) (json []byte, y *YAMLSource, err error) {
	l = l.WithDefaults()
	if len(src) > l.MaxBytes {
		return nil, nil, tooLarge(len(src), l.MaxBytes)
	}
	y = &YAMLSource{text: utf8Text(src)}
	// Without both characters there is no alias. Checking for one costs a parse.
	if bytes.IndexByte(y.text, '&') >= 0 && bytes.IndexByte(y.text, '*') >= 0 {
		if err := y.checkAliases(src, l); err != nil {
			return nil, nil, err
		}
	}
	if json, y.strict = convert(src, sigsyaml.YAMLToJSONStrict); y.strict != nil {
		if json, err = convert(src, sigsyaml.YAMLToJSON); err != nil {
			if y.endless != nil && err.Error() == y.endless.Text {
				y.indexLines()
				y.endless.Offset = y.index.offset(y.text, y.endless.Line, y.endless.Column)
				return nil, nil, y.endless
			}
			return nil, nil, yamlError(err).place(y.text)
		}
	}
	if hasConvertedKeys(json) {
		if text := y.withStringKeys(); text != nil {
			if converted, err := convert(text, sigsyaml.YAMLToJSON); err == nil {
				json = converted
			}
		}
	}
	return plainHTML(json), y, nil
}

// convert calls the YAML library and turns a panic into an error.
func convert(src []byte, with func([]byte) ([]byte, error)) (json []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			json, err = nil, fmt.Errorf("yaml: the document cannot be read: %v", r)
		}
	}()
	return with(src)
}

var yamlLine = regexp.MustCompile(`\bline (\d+): `)

func yamlError(err error) *SyntaxError {
	e := &SyntaxError{Offset: -1, Text: err.Error(), Cause: err}
	if m := yamlLine.FindStringSubmatch(e.Text); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			e.Line = line
		}
	}
	return e
}

// plainHTML reverts, in place, the escapes of <, > and & that encoding/json adds.
func plainHTML(json []byte) []byte {
	out := json[:0]
	for i := 0; i < len(json); {
		next := bytes.IndexByte(json[i:], '\\')
		if next < 0 {
			return append(out, json[i:]...)
		}
		out = append(out, json[i:i+next]...)
		i += next
		if rest := json[i:]; len(rest) >= 6 && string(rest[:4]) == `\u00` {
			c := byte(0)
			switch string(rest[4:6]) {
			case "3c":
				c = '<'
			case "3e":
				c = '>'
			case "26":
				c = '&'
			}
			if c != 0 {
				out = append(out, c)
				i += 6
				continue
			}
		}
		out = append(out, json[i:i+2]...) // a backslash is never the last byte of valid JSON
		i += 2
	}
	return out
}
