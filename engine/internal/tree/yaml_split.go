package tree

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"regexp"
	"unicode/utf16"
	"unicode/utf8"

	yamlv2 "go.yaml.in/yaml/v2"
)

// YAMLDocument is one document of a stream.
type YAMLDocument struct {
	Text []byte // including its --- line, if it has one
	// Offset is the number of bytes of the stream before Text.
	Offset int
	// Line is the line of the stream, from 1, on which Text begins. Add Line-1 to lines in Text.
	Line int
}

// SplitYAML yields the documents of a YAML stream in UTF-8 and skips those that only hold comments. As in YAML, a line
// that begins with --- or ... separates documents. Each document is suitable for YAMLToJSON.
func SplitYAML(stream []byte) iter.Seq[YAMLDocument] {
	return func(yield func(YAMLDocument) bool) {
		begin, line := 0, 1
		started, content := false, false
		current := 0
		for at, text := range yamlLines(stream) {
			current++
			before := content
			marker, rest := DocumentMarker(text)
			if marker == '-' && started || marker == '.' {
				end := at
				if marker == '.' {
					end += len(text)
				}
				if content && !yield(YAMLDocument{Text: stream[begin:end], Offset: begin, Line: line}) {
					return
				}
				begin, line = at, current
				if marker == '.' {
					begin, line = end, current+1
				}
				started, content = false, false
			}
			if marker == '-' {
				started = true
				content = HasContent(rest)
			} else if marker == 0 && HasContent(text) && (started || text[0] != '%') {
				started, content = true, true
			}
			if content && !before && !mayHaveMarker(stream[at+len(text):]) {
				break // without reading the other lines
			}
		}
		if content {
			yield(YAMLDocument{Text: stream[begin:], Offset: begin, Line: line})
		}
	}
}

// mayHaveMarker reports whether a text may have a line that begins with --- or ....
func mayHaveMarker(text []byte) bool {
	return bytes.Contains(text, []byte("---")) || bytes.Contains(text, []byte("..."))
}

// unindented matches a document that begins with an unindented key. Only a marker can end its mapping.
var unindented = regexp.MustCompile(`\A\x{feff}?((---)?[ \t]*(#.*)?\r?\n)*[A-Za-z]`)

// secondDocument returns the line on which other text begins after the first document, which is the one that upstream
// reads. That document may be empty if --- or ... marks it.
func secondDocument(text []byte) (line int, found bool) {
	for document := range SplitYAML(text) {
		if document.Line > 1 {
			return document.Line, true
		}
	}
	if unindented.Match(text) || json.Valid(text) {
		return 0, false // without another parse
	}
	_, err := convert(text, func(text []byte) ([]byte, error) {
		decoder, ignored := yamlv2.NewDecoder(bytes.NewReader(text)), struct{}{}
		_ = decoder.Decode(&ignored) // It was converted before.
		return nil, decoder.Decode(&ignored)
	})
	if err == nil || errors.Is(err, io.EOF) {
		return 0, false
	}
	return yamlError(err).Line + 1, true // The library counts lines from 0.
}

// IgnoredText returns the offset of the text after the first document, which readers of manifests ignore, or its length
// if that is not known exactly. found is false if there is no such text. The document must be valid.
func IgnoredText(text []byte) (offset int, found bool) {
	rest := bytes.TrimPrefix(text, []byte("---\n"))
	if len(rest) > 0 && rest[0]|0x20 >= 'a' && rest[0]|0x20 <= 'z' && !mayHaveMarker(rest) {
		return 0, false // an unindented key, as in nearly all texts
	}
	if _, found = secondDocument(text); !found {
		return 0, false
	}
	y := &YAMLSource{text: text}
	y.indexLines()
	root := y.tree()
	if root == nil {
		return len(text), true
	}
	offset = y.space(y.end(root, -1))
	for _, row := range yamlLines(text[offset:]) {
		if marker, _ := DocumentMarker(row); marker == '.' {
			offset = y.space(offset + len(row))
		}
		break
	}
	return offset, true
}

// yamlLines yields the offset of each line and its text with the line break, without the byte order mark.
func yamlLines(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		at := 0
		if bytes.HasPrefix(text, byteOrderMark) {
			at = len(byteOrderMark)
		}
		for i := at; i < len(text); {
			size := lineBreak(text[i:])
			if i += max(size, 1); size > 0 || i == len(text) {
				if !yield(at, text[at:i]) {
					return
				}
				at = i
			}
		}
	}
}

// DocumentMarker returns the character of a --- or ... at the beginning of a line, and the rest of the line.
func DocumentMarker(line []byte) (marker byte, rest []byte) {
	if len(line) < 3 || line[0] != '-' && line[0] != '.' || line[1] != line[0] || line[2] != line[0] {
		return 0, nil
	}
	rest = line[3:]
	if len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || lineBreak(rest) > 0 {
		return line[0], rest
	}
	return 0, nil
}

// HasContent reports whether a line has more than white space and a comment.
func HasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) > 0 && line[0] != '#' && lineBreak(line) == 0
}

// HasContentIn reports whether a text has more than spaces and comments. A tab cannot begin a line.
func HasContentIn(text []byte) bool {
	if HasContent(text) {
		return true
	}
	for _, line := range yamlLines(text) {
		if HasContent(line) || bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte{'\t'}) {
			return true
		}
	}
	return false
}

// utf8Text returns the text in UTF-8. YAML may also be UTF-16 with a byte order mark; offsets then refer to the UTF-8
// text.
func utf8Text(src []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(src, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(src, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return src
	}
	units := make([]uint16, 0, len(src)/2)
	for i := 2; i+1 < len(src); i += 2 {
		units = append(units, order.Uint16(src[i:]))
	}
	if len(src)%2 > 0 {
		units = append(units, utf8.RuneError)
	}
	return []byte(string(utf16.Decode(units)))
}
