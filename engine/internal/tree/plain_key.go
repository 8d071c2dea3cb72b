package tree

import "strings"

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
