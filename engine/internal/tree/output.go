package tree

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// AppendJSON appends the value as upstream prints it, without white space, but in the key order of the input. Unchanged
// text is copied. Edited containers, Lossy values, and containers with white space are printed anew.
func (d *Doc) AppendJSON(dst []byte, i uint32) []byte {
	n := &d.Nodes[i]
	if n.Flags&printedAnew == 0 {
		return append(dst, d.Src[n.Src][n.Off:n.End]...)
	}
	switch n.Kind {
	case Object:
		dst = append(dst, '{')
		for c := n.First; c != 0; {
			if c != n.First {
				dst = append(dst, ',')
			}
			m := &d.Nodes[c]
			if m.asWritten() {
				from := m.Key - 1
				// Join adjacent members with only a comma and a quote in between.
				for m.Next != 0 && d.Nodes[m.Next].asWritten() && d.Nodes[m.Next].Key == m.End+2 {
					m = &d.Nodes[m.Next]
				}
				dst = append(dst, d.Src[Request][from:m.End]...)
			} else {
				dst = d.appendKey(dst, m)
				dst = append(dst, ':')
				dst = d.AppendJSON(dst, c)
			}
			c = m.Next
		}
		return append(dst, '}')
	case Array:
		return d.appendArray(dst, n, false)
	}
	return d.appendScalar(dst, n, false)
}

func (d *Doc) appendArray(dst []byte, n *Node, canonical bool) []byte {
	dst = append(dst, '[')
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		if c != n.First {
			dst = append(dst, ',')
		}
		if canonical {
			dst = d.AppendCanonical(dst, c)
		} else {
			dst = d.AppendJSON(dst, c)
		}
	}
	return append(dst, ']')
}

// AppendDecoded is like AppendJSON, but prints Floats so that they parse as Floats again: 1.0 stays 1.0.
func (d *Doc) AppendDecoded(dst []byte, i uint32) []byte {
	d.floats = true
	dst = d.AppendJSON(dst, i)
	d.floats = false
	return dst
}

// asWritten reports whether a member is printed as in the request, including its key.
func (n *Node) asWritten() bool {
	return n.Flags&printedAnew == 0 && n.Src == Request && n.KeySrc == Request && n.Off == n.Key+n.KeyLen+2
}

// appendKey copies a key written without escapes and quotes any other.
func (d *Doc) appendKey(dst []byte, n *Node) []byte {
	if n.KeyLen == 0 { // its offset may be stale
		return append(dst, '"', '"')
	}
	key := d.Src[n.KeySrc][n.Key : n.Key+n.KeyLen]
	if n.KeySrc == Arena {
		return appendString(dst, string(key), false)
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"')
}

func (d *Doc) appendScalar(dst []byte, n *Node, html bool) []byte {
	switch n.Kind {
	case False:
		return append(dst, "false"...)
	case True:
		return append(dst, "true"...)
	case Int:
		return strconv.AppendInt(dst, int64(n.Val), 10)
	case Float:
		from := len(dst)
		if dst = appendFloat(dst, math.Float64frombits(n.Val)); d.floats && !bytes.ContainsAny(dst[from:], ".e") {
			dst = append(dst, ".0"...)
		}
		return dst
	case String:
		return appendString(dst, d.str(n), html)
	}
	return append(dst, "null"...)
}

// appendFloat appends a float as encoding/json does: in ECMAScript format, with exponents below 1e-6 and from 1e21.
func appendFloat(dst []byte, f float64) []byte {
	format := byte('f')
	if a := math.Abs(f); a != 0 && (a < 1e-6 || a >= 1e21) {
		format = 'e'
	}
	dst = strconv.AppendFloat(dst, f, format, -1, 64)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendString appends a quoted string as encoding/json does. html also escapes <, > and &.
func appendString(dst []byte, s string, html bool) []byte {
	dst = append(dst, '"')
	start := 0
	text := unsafe.Slice(unsafe.StringData(s), len(s))
	for i := 0; i < len(s); {
		if len(text)-i >= 8 {
			x := binary.LittleEndian.Uint64(text[i:])
			m := special(x)
			if html { // < and > differ in one bit
				m |= ((((x | ones*2) ^ ones*'>') - ones) | ((x ^ ones*'&') - ones)) & highs
			}
			if m == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(m) >> 3
		}
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' && (!html || c != '<' && c != '>' && c != '&') {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			if k := strings.IndexByte("\"\\\b\f\n\r\t", c); k >= 0 {
				dst = append(dst, '\\', `"\bfnrt`[k])
			} else {
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&15])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

// AppendString appends a string as encoding/json does if it does not escape HTML.
func AppendString(dst []byte, s string) []byte { return appendString(dst, s, false) }

// AppendCanonicalString appends the bytes that json.Marshal returns for a string.
func AppendCanonicalString(dst []byte, s string) []byte { return appendString(dst, s, true) }

// AppendCanonical appends the bytes that json.Marshal returns for Any(i): sorted keys, no white space, with <, > and &
// escaped. Upstream prints bad values and compares list elements in this form. It is also suitable for digests.
func (d *Doc) AppendCanonical(dst []byte, i uint32) []byte {
	n := &d.Nodes[i]
	switch n.Kind {
	case Object:
		var few [16]uint32 // most objects need no allocation
		members := few[:0]
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			members = append(members, c)
		}
		slices.SortFunc(members, func(a, b uint32) int { return strings.Compare(d.Key(a), d.Key(b)) })
		dst = append(dst, '{')
		for k, c := range members {
			if k > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, d.Key(c), true), ':')
			dst = d.AppendCanonical(dst, c)
		}
		return append(dst, '}')
	case Array:
		return d.appendArray(dst, n, true)
	}
	return d.appendScalar(dst, n, true)
}

// AppendAny appends the bytes that json.Marshal returns for a value, or null for a value that cannot be marshaled.
func AppendAny(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case float64:
		return appendFloat(dst, v)
	case string:
		return appendString(dst, v, true)
	}
	text, err := json.Marshal(v)
	if err != nil {
		return append(dst, "null"...)
	}
	return append(dst, text...)
}
