package document

import (
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// AppendString appends a string as encoding/json writes it if it does not escape HTML.
func AppendString(dst []byte, s string) []byte { return tree.AppendString(dst, s) }

// AppendCanonicalString appends the bytes that json.Marshal returns for a string: <, > and & are escaped.
func AppendCanonicalString(dst []byte, s string) []byte { return tree.AppendCanonicalString(dst, s) }

// AppendValue appends the bytes that json.Marshal returns for a value, or null for one that cannot be marshaled.
func AppendValue(dst []byte, v any) []byte { return tree.AppendAny(dst, v) }

// EscapePointer returns the token of a JSON pointer (RFC 6901) for a key.
func EscapePointer(key string) string { return tree.EscapePointer(key) }

// SplitPointer returns the keys and indexes of a JSON pointer. It returns none for the pointer of the root, "".
func SplitPointer(pointer string) []string {
	keys := strings.Split(pointer, "/")[1:]
	for i := range keys {
		keys[i] = tree.UnescapePointer(keys[i])
	}
	return keys
}
