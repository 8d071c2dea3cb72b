package conversion

import (
	"bytes"
	"fmt"
	"unicode"
)

// Bounds of checkShape.
const (
	maxOther    = 1 << 20         // bytes of JSON besides objects
	maxElements = 10 * MaxObjects // of the lists of objects
	maxNotJSON  = 64 << 10        // bytes of other formats, whose decoders need much memory
)

// checkShape returns a failure with TooLarge for a small response that would take much memory when it is decoded. It
// does not report malformed responses.
//
// The decoder keeps objects as JSON. It needs much memory only for long lists of small values outside of objects,
// which valid responses do not contain.
func checkShape(data []byte) error {
	if !bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{")) {
		return checkBound("bytes that are not JSON", len(data), maxNotJSON)
	}
	depth, inObjects := 0, false // in a field of objects of the request or the response
	other, elements := 0, 0
	for i := 0; i < len(data); i++ {
		from := i
		switch data[i] {
		case '"':
			i = endOfString(data, i)
			if depth == 2 {
				name := string(data[from:min(i+1, len(data))])
				inObjects = name == `"convertedObjects"` || name == `"objects"`
			}
		case '{', '[':
			if depth++; inObjects && depth == 3 {
				elements++
			}
		case '}', ']':
			depth--
		case ',':
			switch {
			case depth == 2:
				inObjects = false
			case inObjects && depth == 3:
				elements++
			}
		}
		if !inObjects || depth < 3 {
			other += i + 1 - from
		}
		if other > maxOther || elements > maxElements {
			break
		}
	}
	if err := checkBound("objects", elements, maxElements); err != nil {
		return err
	}
	return checkBound("bytes besides objects", other, maxOther)
}

// endOfString returns the index of the last byte of a string, or of the data.
func endOfString(data []byte, start int) int {
	for i := start + 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(data)
}

func checkBound(what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return &failure{TooLarge, fmt.Errorf("the response has more than %d %s, the limit", limit, what)}
}
