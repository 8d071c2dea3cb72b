package value

import (
	"encoding/binary"
	"unicode/utf8"
	"unsafe"
)

// plainText reports whether a text only has bytes that the scanner knows: printable characters in UTF-8, tabs, and line
// feeds as its only line breaks.
func plainText(text []byte) (ascii, ok bool) {
	const low = ones * 0x7f
	ascii = true
	for i := 0; i < len(text); {
		if len(text)-i >= 8 {
			x := binary.LittleEndian.Uint64(text[i:])
			printable := (x | highs) - ones*' '
			other := ((x ^ ones*'\n') & low) + low // than a line feed
			if bad := (x | ^printable&other | ^(((x ^ ones*0x7f) & low) + low)) & highs; bad == 0 {
				i += 8
				continue
			}
		}
		end := min(i+8, len(text))
		for i < end {
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
