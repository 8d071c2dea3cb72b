package value

import (
	"encoding/binary"
	"math/bits"
)

// space reports whether the byte is JSON white space.
func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the highest bit of each byte of x that is special in a string: a quote, a backslash, a control character
// or a byte outside ASCII. Bits above the lowest set one may be wrong.
func special(x uint64) uint64 {
	quote, slash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (slash-ones)&^slash | x) & highs
}

// plain returns the index of the first special byte at or after i, or len(text) if there is none. It checks eight bytes
// at a time.
func plain(text []byte, i int) int {
	for len(text)-i >= 8 {
		if m := special(binary.LittleEndian.Uint64(text[i:])); m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return i
		}
		i++
	}
	return i
}
