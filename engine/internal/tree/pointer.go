package tree

import "strings"

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// EscapePointer returns the token of a JSON pointer (RFC 6901) for a key.
func EscapePointer(key string) string { return escapePointer.Replace(key) }

// UnescapePointer returns the key for a token of a JSON pointer.
func UnescapePointer(token string) string { return unescapePointer.Replace(token) }
