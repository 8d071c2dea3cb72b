package value

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
	"unsafe"
)

// plainText reports whether a text only has bytes that the scanner knows: printable characters in UTF-8, tabs, and line
// feeds as its only line breaks.
func plainText(text []byte) (ascii, ok bool) {
	ascii = true
	for i := 0; i < len(text); {
		rest := text[i:]
		for len(rest) >= 32 {
			block := (*[32]byte)(rest)
			a, b := odd(binary.LittleEndian.Uint64(block[:])), odd(binary.LittleEndian.Uint64(block[8:]))
			c, d := odd(binary.LittleEndian.Uint64(block[16:])), odd(binary.LittleEndian.Uint64(block[24:]))
			if (a|b|c|d)&highs != 0 {
				break
			}
			rest = rest[32:]
		}
		i = len(text) - len(rest)
		for end := min(i+32, len(text)); i < end; {
			c := text[i]
			if c < utf8.RuneSelf {
				if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
					return false, false
				}
				i++
				continue
			}
			ascii = false
			r, size := utf8.DecodeRune(text[i:])
			if r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff' || r == utf8.RuneError && size == 1 || r&^1 == 0xfffe {
				return false, false
			}
			i += size
		}
	}
	return ascii, true
}

// odd returns a number whose highest bits of all bytes are 0 if all eight bytes of x are printable ASCII characters and
// line feeds.
func odd(x uint64) uint64 {
	const lows = ^uint64(highs)
	// In y, a line feed is 0, and the other control characters are 1 to 31.
	y := x ^ ones*'\n'
	valid := ((y|highs)-ones)&lows + ones*(0x80-31)
	return x | (x + ones) | ^valid // x+ones sets the highest bit for 0x7f
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

// wide reports whether a text has bytes outside ASCII.
func wide(text []byte) bool {
	for ; len(text) >= 8; text = text[8:] {
		if binary.LittleEndian.Uint64(text)&highs != 0 {
			return true
		}
	}
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return true
		}
	}
	return false
}

func bytesAsString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
