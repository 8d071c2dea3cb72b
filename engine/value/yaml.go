package value

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	sigsyaml "sigs.k8s.io/yaml"
)

// ParseYAML reads one YAML document into the Doc, as YAMLToJSON makes it JSON, and returns its root. Positions of the
// tree are those of the YAML text.
func (d *Doc) ParseYAML(src []byte, s Source, l Limits) (root uint32, err error) {
	json, y, err := YAMLToJSON(src, l)
	if err != nil {
		return 0, err
	}
	return d.ParseFromYAML(json, y, s, l)
}

// ParseFromYAML reads what YAMLToJSON has returned, for documents that are parsed more than once.
func (d *Doc) ParseFromYAML(json []byte, y *YAMLSource, s Source, l Limits) (root uint32, err error) {
	l.MaxBytes = maxSource // the YAML was bounded, and so was its expansion
	root, err = d.Parse(json, s, l)
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		// Too deep for upstream's JSON decoder. The place is one in JSON that the caller has never seen.
		syntax.Offset, syntax.Line, syntax.Column = -1, 0, 0
	}
	if err == nil {
		d.yaml[s] = y
	}
	return root, err
}

// YAMLToJSON turns one YAML document into JSON with exactly the values that sigs.k8s.io/yaml gives it, and so an API
// server: YAML 1.1 scalars (on is true, 017 is 15, 1.0 is the integer 1), keys that are not strings turned into
// strings, merge keys applied. An empty text is null. The order of keys is not kept: they come sorted. The YAMLSource
// knows where things stood.
//
// The error is a *LimitError (size; depth and size of aliases once expanded, found out before they are) or a
// *SyntaxError with the YAML library's text; also for a stream of several documents, of which upstream silently reads
// the first.
func YAMLToJSON(src []byte, l Limits) (json []byte, y *YAMLSource, err error) {
	l = l.withDefaults()
	if len(src) > l.MaxBytes {
		return nil, nil, tooLarge(len(src), l.MaxBytes)
	}
	text := utf8Text(src)
	y = &YAMLSource{text: text}
	// Without both signs there can be no alias; with them there need not be one, and looking costs a parse.
	if bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0 {
		if err := y.checkAliases(src, l); err != nil {
			return nil, nil, err
		}
	}
	if json, y.strict = convert(src, sigsyaml.YAMLToJSONStrict); y.strict != nil {
		if json, err = convert(src, sigsyaml.YAMLToJSON); err != nil {
			return nil, nil, yamlError(err)
		}
	}
	if line, more := secondDocument(text); more {
		return nil, nil, &SyntaxError{Offset: -1, Line: line, Column: 1,
			Text: fmt.Sprintf("yaml: line %d: a second document begins here; send one document at a time", line)}
	}
	return plainHTML(json), y, nil
}

// convert runs a conversion of the YAML library, which panics on nothing that is known, but is not ours.
func convert(src []byte, with func([]byte) ([]byte, error)) (json []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			json, err = nil, fmt.Errorf("yaml: the document cannot be read: %v", r)
		}
	}()
	return with(src)
}

var yamlLine = regexp.MustCompile(`\bline (\d+): `)

func yamlError(err error) error {
	e := &SyntaxError{Offset: -1, Text: err.Error(), Cause: err}
	if m := yamlLine.FindStringSubmatch(e.Text); m != nil {
		if line, err := strconv.Atoi(m[1]); err == nil {
			e.Line = line
		}
	}
	return e
}

// plainHTML undoes, in place, the escapes of <, > and & that encoding/json adds: results should show what the user
// wrote.
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
		out = append(out, json[i:i+2]...) // a backslash is never the last byte
		i += 2
	}
	return out
}
