package tree

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// readString parses a string that is not plain ASCII. open is the index of its opening quote, j that of the first
// special byte. It returns the index of the closing quote, the flags, and the Arena position of Escaped content. As in
// sigs.k8s.io/json, each invalid byte and lone surrogate becomes U+FFFD.
func (d *Doc) readString(text []byte, open, j int) (closing int, flags Flags, val uint64, ok bool) {
	arena := d.Src[Arena]
	start := len(arena)
	run := open + 1 // start of the bytes not yet copied to the Arena
	for {
		if j = plain(text, j); j >= len(text) {
			return 0, 0, 0, false
		}
		switch c := text[j]; {
		case c == '"':
			if flags&Escaped == 0 {
				return j, flags, 0, true
			}
			arena = append(arena, text[run:j]...)
			d.Src[Arena] = arena
			return j, flags, uint64(start)<<32 | uint64(len(arena)-start), true
		case c == '\\':
			arena = append(arena, text[run:j]...)
			flags |= Escaped
			if j+1 >= len(text) {
				return 0, 0, 0, false
			}
			c = text[j+1]
			j += 2
			switch c {
			case '"', '\\', '/':
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			case 'u':
				r := hex4(text, j)
				if r < 0 {
					return 0, 0, 0, false
				}
				j += 4
				if utf16.IsSurrogate(r) {
					pair := rune(utf8.RuneError)
					if len(text)-j >= 6 && text[j] == '\\' && text[j+1] == 'u' {
						pair = utf16.DecodeRune(r, hex4(text, j+2))
					}
					if r = pair; pair == utf8.RuneError {
						flags |= Lossy
					} else {
						j += 6
					}
				}
				if r >= utf8.RuneSelf {
					flags |= Wide
				}
				arena = utf8.AppendRune(arena, r)
				run = j
				continue
			default:
				return 0, 0, 0, false
			}
			arena = append(arena, c)
			run = j
		case c < ' ':
			return 0, 0, 0, false
		default:
			flags |= Wide
			r, size := utf8.DecodeRune(text[j:])
			if r == utf8.RuneError && size == 1 {
				arena = append(arena, text[run:j]...)
				arena = utf8.AppendRune(arena, utf8.RuneError)
				flags |= Escaped | Lossy
				run = j + 1
			}
			j += size
		}
	}
}

// hex4 parses four hexadecimal digits at i. It returns -1 for other text.
func hex4(text []byte, i int) rune {
	if len(text)-i < 4 {
		return -1
	}
	var r rune
	for _, c := range text[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// readNumber parses a number at i into the node and returns the index after it. It returns -1 if the number is invalid
// or out of range. A literal without point and exponent within int64 is an Int, including -0; all others are Floats.
func readNumber(text []byte, i int, p *Node) int {
	start := i
	negative := false
	if text[i] == '-' {
		negative = true
		i++
	}
	first := i
	var v uint64
	for i < len(text) && text[i]-'0' <= 9 {
		v = v*10 + uint64(text[i]-'0')
		i++
	}
	digits := i - first
	if digits == 0 || digits > 1 && text[first] == '0' {
		return -1
	}
	integer := true
	if i < len(text) && text[i] == '.' {
		integer = false
		i++
		fraction := i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		if i == fraction {
			return -1
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		integer = false
		i++
		if i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		exponent := i
		for i < len(text) && text[i]-'0' <= 9 {
			i++
		}
		if i == exponent {
			return -1
		}
	}
	p.End = uint32(i)
	// 19 digits cannot overflow 64 bits, so v is exact. Longer literals exceed int64 anyway.
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if integer && digits <= 19 && v <= limit {
		p.Kind, p.Val = Int, v
		if negative {
			p.Val = -v
			if v == 0 {
				p.Flags = Lossy // -0 is printed as 0
			}
		}
		return i
	}
	literal := text[start:i]
	f, err := strconv.ParseFloat(unsafe.String(&literal[0], len(literal)), 64)
	if err != nil {
		return -1
	}
	p.Kind, p.Val = Float, math.Float64bits(f)
	var buffer [32]byte
	if string(appendFloat(buffer[:0], f)) != string(literal) {
		p.Flags = Lossy
	}
	return i
}

// space reports whether the byte is JSON white space.
func space(c byte) bool { return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r') }

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special sets the highest bit of each byte of x that is special in a string: a quote, a backslash, a control character
// or a byte outside ASCII. Bits above the lowest set one may be wrong.
func special(x uint64) uint64 {
	// x^2 moves the quote to ' ', after the control characters.
	return (((x ^ ones*2) - ones*(' '+1)) | ((x ^ ones*'\\') - ones) | x) & highs
}

// plain returns the index of the first special byte at or after i, or len(text). It checks eight bytes
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
