package tree

import (
	"bytes"
	gojson "encoding/json"
	"unicode/utf8"
	"unsafe"
)

// PeekTypeMeta reads apiVersion and kind of an object without building a tree. If ok is true and a full parse succeeds,
// both return the same values. The strings refer to src. ok is false in these cases:
//   - The text is not an object, or is visibly malformed.
//   - One of the two fields is missing or not a plain string.
//   - A key of the object has escapes.
func PeekTypeMeta(src []byte) (apiVersion, kind string, ok bool) {
	i := skipSpace(src, 0)
	if i >= len(src) || src[i] != '{' {
		return "", "", false
	}
	var haveVersion, haveKind bool
	for {
		key, next := peekKey(src, i+1)
		if i = next; i < 0 {
			return "", "", false
		}
		switch key {
		case "apiVersion":
			apiVersion, next = plainString(src, i)
			haveVersion = true
		case "kind":
			kind, next = plainString(src, i)
			haveKind = true
		default:
			next = skipValue(src, i)
		}
		if next < 0 {
			return "", "", false
		}
		i = skipSpace(src, next)
		if i >= len(src) {
			return "", "", false
		}
		if src[i] == '}' {
			return apiVersion, kind, haveVersion && haveKind && skipSpace(src, i+1) == len(src)
		}
		if src[i] != ',' {
			return "", "", false
		}
	}
}

// peekKey reads a member's key without escapes and its colon. It returns the index of the value, or -1.
func peekKey(src []byte, i int) (key string, value int) {
	key, i = plainString(src, skipSpace(src, i))
	if i < 0 {
		return "", -1
	}
	if i = skipSpace(src, i); i >= len(src) || src[i] != ':' {
		return "", -1
	}
	return key, skipSpace(src, i+1)
}

// Span is a part of a text.
type Span struct{ Begin, End int }

// PeekList reads the kind of an object and finds the elements of its field items without building a tree. If ok is true
// and each element is valid JSON, the text is valid JSON, and a full parse gives the same. The kind refers to src. ok is
// false in these cases:
//   - The text is not an object, or is visibly malformed.
//   - The kind is missing or not a plain string, or items is missing or not an array.
//   - A key of the object is repeated, or has escapes.
func PeekList(src []byte) (kind string, items []Span, ok bool) {
	i := skipSpace(src, 0)
	if i >= len(src) || src[i] != '{' {
		return "", nil, false
	}
	seen := map[string]bool{}
	for {
		key, begin := peekKey(src, i+1)
		if begin < 0 || seen[key] {
			return "", nil, false
		}
		seen[key] = true
		var next int
		switch key {
		case "kind":
			kind, next = plainString(src, begin)
		case "items":
			items, next = elements(src, begin)
		default:
			if next = skipValue(src, begin); next < 0 || !gojson.Valid(src[begin:next]) {
				return "", nil, false
			}
		}
		if next < 0 {
			return "", nil, false
		}
		if i = skipSpace(src, next); i >= len(src) || src[i] != ',' {
			break
		}
	}
	return kind, items, i < len(src) && src[i] == '}' && seen["kind"] && seen["items"] && skipSpace(src, i+1) == len(src)
}

// elements finds the elements of the array at i. next is -1 if there is no array.
func elements(src []byte, i int) (all []Span, next int) {
	if i >= len(src) || src[i] != '[' {
		return nil, -1
	}
	if i = skipSpace(src, i+1); i < len(src) && src[i] == ']' {
		return []Span{}, i + 1
	}
	for {
		end := skipValue(src, i)
		if end <= i {
			return nil, -1
		}
		all = append(all, Span{i, end})
		if i = skipSpace(src, end); i >= len(src) || src[i] != ',' {
			break
		}
		i = skipSpace(src, i+1)
	}
	if i >= len(src) || src[i] != ']' {
		return nil, -1
	}
	return all, i + 1
}

// NextJSON finds the next value in a sequence of JSON values. ok is false at the end of the text. The value may be invalid.
func NextJSON(src []byte, at int) (v Span, ok bool) {
	if at = skipSpace(src, at); at >= len(src) {
		return v, false
	}
	end := skipValue(src, at)
	switch c := src[at]; {
	case c == '-' || c-'0' <= 9:
		for end = at; end < len(src) && bytes.IndexByte([]byte("0123456789+-.eE"), src[end]) >= 0; {
			end++
		}
	case c >= 'a' && c <= 'z':
		for _, literal := range []string{"null", "true", "false"} {
			if bytes.HasPrefix(src[at:], []byte(literal)) {
				end = at + len(literal)
			}
		}
	}
	if end <= at {
		end = len(src)
	}
	return Span{at, end}, true
}

// TypeMetaHead returns the beginning of a text up to and including apiVersion and kind, and both. It returns nil unless
// these are the first two members and plain strings. Texts with the same head have the same type, unless they repeat
// these keys later. The results refer to src.
func TypeMetaHead(src []byte) (head []byte, apiVersion, kind string) {
	i := skipSpace(src, 0)
	if i >= len(src) || src[i] != '{' {
		return nil, "", ""
	}
	var first string
	for {
		key, next := peekKey(src, i+1)
		if next < 0 || key != "apiVersion" && key != "kind" || key == first {
			return nil, "", ""
		}
		of := &kind
		if key == "apiVersion" {
			of = &apiVersion
		}
		if *of, next = plainString(src, next); next < 0 {
			return nil, "", ""
		}
		if first != "" {
			return src[:next], apiVersion, kind
		}
		first = key
		if i = skipSpace(src, next); i >= len(src) || src[i] != ',' {
			return nil, "", ""
		}
	}
}

// skipSpace returns the index of the first byte at or after i that is not white space.
func skipSpace(text []byte, i int) int {
	if i < len(text) && text[i] <= ' ' {
		return skipIndent(text, i)
	}
	return i
}

// skipIndent is skipSpace for texts that are indented.
func skipIndent(text []byte, i int) int {
	for i < len(text) && space(text[i]) {
		if i++; text[i-1] == '\n' {
			i = spaces(text, i)
		}
	}
	return i
}

// plainString reads a string without escapes and with valid UTF-8. next is -1 if it does not begin at i.
func plainString(text []byte, i int) (s string, next int) {
	if i >= len(text) || text[i] != '"' {
		return "", -1
	}
	j := plain(text, i+1)
	for j < len(text) && text[j] >= utf8.RuneSelf {
		r, size := utf8.DecodeRune(text[j:])
		if r == utf8.RuneError && size == 1 {
			return "", -1
		}
		j = plain(text, j+size)
	}
	if j >= len(text) || text[j] != '"' {
		return "", -1
	}
	return unsafe.String(unsafe.SliceData(text[i+1:]), j-i-1), j + 1
}

// skipValue returns the index after the value at i. It only checks strings and the number of brackets.
func skipValue(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch c := text[i]; c {
		case '"':
			if i = skipString(text, i+1); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // after a literal
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return i
			}
			if c == '\n' {
				i = spaces(text, i+1)
				continue
			}
		}
		i++
	}
	return -1
}

func skipString(text []byte, i int) int {
	for {
		i = plain(text, i)
		if i >= len(text) {
			return -1
		}
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		i++
	}
}
