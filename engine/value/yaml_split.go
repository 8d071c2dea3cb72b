package value

import (
	"bytes"
	"encoding/binary"
	"iter"
	"unicode/utf16"
)

// YAMLDocument is one document of a stream.
type YAMLDocument struct {
	Text []byte // with its own --- line, if it has one
	Line int    // of the stream, from 1, on which Text begins: what to add, less one, to the positions in Text
}

// SplitYAML yields the documents of a YAML stream in UTF-8, leaving out those that hold nothing but comments. Documents
// are separated where a line begins with --- or ..., as in YAML; each is then a text for YAMLToJSON.
func SplitYAML(stream []byte) iter.Seq[YAMLDocument] {
	return func(yield func(YAMLDocument) bool) {
		begin, line := 0, 1
		started, content := false, false
		current := 0
		for at, text := range yamlLines(stream) {
			current++
			marker, rest := documentMarker(text)
			if marker == '-' && started || marker == '.' {
				end := at
				if marker == '.' {
					end += len(text)
				}
				if content && !yield(YAMLDocument{Text: stream[begin:end], Line: line}) {
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
				content = hasContent(rest)
			} else if marker == 0 && hasContent(text) && (started || text[0] != '%') {
				started, content = true, true
			}
		}
		if content {
			yield(YAMLDocument{Text: stream[begin:], Line: line})
		}
	}
}

// secondDocument finds the line on which a second document with content begins. The first one is what upstream reads:
// it may be empty, if a --- or ... says so.
func secondDocument(text []byte) (line int, found bool) {
	started, ended := false, false
	current, marked := 0, 0
	for _, text := range yamlLines(text) {
		current++
		marker, rest := documentMarker(text)
		switch {
		case marker == '.':
			ended = true
			continue
		case marker == '-' && started:
			ended, marked = true, current
			text = rest
		case marker == '-':
			started = true
			if !ended {
				continue
			}
			marked, text = current, rest
		}
		if !hasContent(text) {
			continue
		}
		if ended {
			if marked > 0 {
				current = marked
			}
			return current, true
		}
		if text[0] != '%' || started {
			started = true
		}
	}
	return 0, false
}

// yamlLines yields the offset of each line and its text with the line break, the byte order mark left out.
func yamlLines(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		lines := lineStarts(text)
		for k, at := range lines {
			end := len(text)
			if k+1 < len(lines) {
				end = lines[k+1]
			}
			if at < end && !yield(at, text[at:end]) {
				return
			}
		}
	}
}

// documentMarker recognises --- and ... at the beginning of a line and returns the marker's character and what follows
// it.
func documentMarker(line []byte) (marker byte, rest []byte) {
	if len(line) < 3 || line[0] != '-' && line[0] != '.' || line[1] != line[0] || line[2] != line[0] {
		return 0, nil
	}
	rest = line[3:]
	if len(rest) == 0 || rest[0] == ' ' || rest[0] == '\t' || lineBreak(rest) > 0 {
		return line[0], rest
	}
	return 0, nil
}

// hasContent reports whether there is more on a line than white space and a comment.
func hasContent(line []byte) bool {
	line = bytes.TrimLeft(line, " \t")
	return len(line) > 0 && line[0] != '#' && lineBreak(line) == 0
}

// utf8Text returns the text in UTF-8: YAML may also be UTF-16 with a byte order mark. Offsets of positions then refer
// to the UTF-8.
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
	return []byte(string(utf16.Decode(units)))
}
