package tree

import (
	"strconv"
	"strings"
)

// resolveHint says by the first byte what a plain scalar can be.
var resolveHint = func() (table [256]hint) {
	for _, c := range "yYnNtTfFoO~" {
		table[c] = isWord
	}
	for _, c := range "+-.0123456789" {
		table[c] = isNumber
	}
	return table
}()

type hint uint8

const (
	isString hint = iota
	isWord        // a string, a boolean or null
	isNumber      // a string, a number or a time
)

// doubtful is the kind of a plain scalar whose value is a doubt.
const doubtful Kind = 255

// resolve returns the kind of a plain scalar, Int for all numbers. As in go.yaml.in/yaml/v2, yes and on are booleans.
func (s *yamlScanner) resolve(text []byte) Kind {
	switch resolveHint[text[0]] {
	case isWord:
		return word(text)
	case isNumber:
		from := len(s.out)
		kind := s.appendNumber(text)
		s.out = s.out[:from]
		return kind
	}
	return String
}

func word(text []byte) Kind {
	if len(text) > len("false") {
		return String
	}
	switch string(text) {
	case "y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON":
		return True
	case "n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF":
		return False
	case "~", "null", "Null", "NULL":
		return Null
	}
	return String
}

// resolved sets a value to the plain scalar text[from:to] of one line. special is set if it may need escapes.
func (s *yamlScanner) resolved(from, to int, special bool) bool {
	text, kind := s.text[from:to], String
	switch resolveHint[text[0]] {
	case isWord:
		kind = word(text)
	case isNumber:
		if v, ok := decimal(text); ok {
			n := s.set(Int, from)
			s.out = append(s.out, text...)
			n.Val, n.End = uint64(v), uint32(len(s.out))
			return true
		}
		begin := len(s.out)
		if kind = s.appendNumber(text); kind == Int {
			n := s.set(Int, from)
			n.Off = uint32(begin)
			return readNumber(s.out, begin, n) == len(s.out) && n.Flags == 0
		}
	case isString:
		if len(text) == 2 && string(text) == "<<" {
			return false
		}
	}
	switch kind {
	case String:
		if !special {
			s.setString(from, from, to)
			return true
		}
		n := s.set(String, from)
		s.out = append(append(s.out, '"'), text...)
		s.endString(n, true)
	case Null:
		s.literal(Null, "null", from)
	case True:
		s.literal(True, "true", from)
	case False:
		s.literal(False, "false", from)
	default:
		return false
	}
	return true
}

// decimal returns an integer that JSON writes in the same way. ok is false for other texts, and for over 18 digits.
func decimal(text []byte) (v int64, ok bool) {
	unsigned := text
	if unsigned[0] == '-' {
		unsigned = unsigned[1:]
	}
	if len(unsigned) == 0 || len(unsigned) > 18 || unsigned[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, c := range unsigned {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if len(unsigned) < len(text) {
		v = -v
	}
	return v, true
}

// isFloat reports whether the YAML library parses a text as a float: [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(text []byte) bool {
	i := sign(text, 0)
	whole := digits(text, i)
	end := whole
	if end < len(text) && text[end] == '.' {
		if end = digits(text, end+1); whole == i && end == whole+1 {
			return false
		}
	} else if whole == i {
		return false
	}
	if end < len(text) && text[end]|0x20 == 'e' {
		begin := sign(text, end+1)
		if end = digits(text, begin); end == begin {
			return false
		}
	}
	return end == len(text)
}

// sign returns the index after the sign at i, if there is one.
func sign(text []byte, i int) int {
	if i < len(text) && (text[i] == '-' || text[i] == '+') {
		i++
	}
	return i
}

// digits returns the index after the digits at i.
func digits(text []byte, i int) int {
	for i < len(text) && text[i]-'0' <= 9 {
		i++
	}
	return i
}

// maxNumber is the length in bytes from which a number is a doubt.
const maxNumber = 256

// appendNumber appends a number as encoding/json prints it and returns Int. For other texts it returns String, and
// doubtful for infinities and unusual numbers.
func (s *yamlScanner) appendNumber(text []byte) Kind {
	if len(text) > len("2006-") && text[4] == '-' && digits(text[:4], 0) == 4 {
		return String // also if it is a time, which go.yaml.in/yaml/v2 keeps as written
	}
	unsigned := text
	if text[0] == '-' || text[0] == '+' {
		unsigned = text[1:]
	}
	if len(unsigned) > 1 && unsigned[0] == '.' && (unsigned[1]|0x20 == 'i' || unsigned[1]|0x20 == 'n') {
		return doubtful // an infinity or not a number
	}
	letters, underscores := false, false
	for _, c := range unsigned {
		switch {
		case c-'0' <= 9 || c == '.' || c == '+' || c == '-' || c == 'e' || c == 'E':
		case c == '_':
			underscores = true
		case c|0x20 >= 'a' && c|0x20 <= 'f' || c|0x20 == 'x' || c|0x20 == 'o':
			letters = true
		default:
			return String
		}
	}
	based := len(unsigned) > 1 && unsigned[0] == '0' && unsigned[1]|0x20 > '9'
	if letters && !underscores && !based {
		return String
	}
	if len(text) > maxNumber {
		return doubtful
	}
	if !letters && !underscores && !isFloat(text) {
		return String
	}
	if text[0] == '.' && underscores {
		return doubtful
	}
	plain := strings.ReplaceAll(string(text), "_", "")
	if v, err := strconv.ParseInt(plain, 0, 64); err == nil {
		s.out = strconv.AppendInt(s.out, v, 10)
		return Int
	}
	if _, err := strconv.ParseUint(plain, 0, 64); err == nil {
		return doubtful
	}
	if binary, ok := strings.CutPrefix(strings.TrimPrefix(plain, "-"), "0b"); ok && strings.Trim(binary, "+-01") == "" {
		return doubtful // the library accepts signs and large values here
	}
	if !isFloat([]byte(plain)) {
		return String
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil {
		return String
	}
	s.out = appendFloat(s.out, v)
	return Int
}
