package tree

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// printable returns the size of the character at i, which is not printable ASCII. The size is 0 if the scanner does not
// know the character.
func (s *yamlScanner) printable(i int) int {
	r, size := utf8.DecodeRune(s.text[i:])
	if r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError && size == 1 || r&^1 == 0xfffe {
		return 0
	}
	s.wide = true
	return size
}

// textStop returns the index of the first double quote, backslash or byte that is not printable ASCII at or after i. It
// checks eight bytes at a time.
func textStop(text []byte, i int) int {
	for len(text)-i >= 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		if m := special(x) | (x+ones)&highs; m != 0 {
			return i + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' && text[i] < 0x7f {
		i++
	}
	return i
}

// spaces returns the index of the first byte at or after i that is not a space.
func spaces(text []byte, i int) int {
	for len(text)-i >= 8 {
		if x := binary.LittleEndian.Uint64(text[i:]) ^ ones*' '; x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
		i += 8
	}
	for i < len(text) && text[i] == ' ' {
		i++
	}
	return i
}

func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
