package metadata

import "strings"

// The functions of this file accept what upstream's validators accept, or less, but never more. Upstream uses regular
// expressions and builds messages.

// isSubdomain reports whether s is a DNS-1123 subdomain: at most 253 bytes, labels of lower-case letters, digits and
// inner dashes, joined by dots.
func isSubdomain(s string) bool {
	if len(s) == 0 || len(s) > 253 {
		return false
	}
	edge := true // at the start of a label
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9':
			edge = false
		case c == '-':
			if edge || i == len(s)-1 || s[i+1] == '.' {
				return false
			}
		case c == '.':
			if edge || i == len(s)-1 {
				return false
			}
			edge = true
		default:
			return false
		}
	}
	return true
}

// isLabel reports whether s is a DNS-1123 label: a subdomain without dots of at most 63 bytes.
func isLabel(s string) bool {
	return len(s) <= 63 && strings.IndexByte(s, '.') < 0 && isSubdomain(s)
}

// isNamePart reports whether s is the name part of a label key, or a label's value: at most 63 letters, digits, dashes,
// underscores and dots, with a letter or digit at both ends.
func isNamePart(s string) bool {
	if len(s) == 0 || len(s) > 63 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(s)-1:
		default:
			return false
		}
	}
	return true
}

// isQualifiedName reports whether s is a name part with an optional subdomain and slash before it. Annotations also
// allow upper case; upstream's validator handles that.
func isQualifiedName(s string) bool {
	slash := strings.IndexByte(s, '/')
	if slash < 0 {
		return isNamePart(s)
	}
	return isSubdomain(s[:slash]) && isNamePart(s[slash+1:])
}

// isPathSegment reports whether s can be a segment of a URL path.
func isPathSegment(s string) bool {
	return s != "." && s != ".." && strings.IndexByte(s, '/') < 0 && strings.IndexByte(s, '%') < 0
}

// isPrintable reports whether s is printable ASCII.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
