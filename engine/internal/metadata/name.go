package metadata

import "strings"

// The functions of this file accept what upstream's validators accept, or a little less; they never accept more. Upstream
// builds regular expressions and messages for each.

// isSubdomain is a DNS-1123 subdomain: at most 253 bytes, labels of letters, digits and inner dashes, joined by dots.
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

// isLabel is a DNS-1123 label: a subdomain without dots of at most 63 bytes.
func isLabel(s string) bool {
	return len(s) <= 63 && strings.IndexByte(s, '.') < 0 && isSubdomain(s)
}

// isNamePart is the name part of a label key and a label's value: at most 63 bytes of letters, digits, dashes, underscores
// and dots, the first and the last a letter or digit.
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

// isQualifiedName is a name part, or a subdomain, a slash and a name part. (Annotations may write the subdomain in upper
// case; that is left to upstream.)
func isQualifiedName(s string) bool {
	slash := strings.IndexByte(s, '/')
	if slash < 0 {
		return isNamePart(s)
	}
	return isSubdomain(s[:slash]) && isNamePart(s[slash+1:])
}

// isPathSegment can stand in a URL path.
func isPathSegment(s string) bool {
	return s != "." && s != ".." && strings.IndexByte(s, '/') < 0 && strings.IndexByte(s, '%') < 0
}

// isPrintable is printable ASCII.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
