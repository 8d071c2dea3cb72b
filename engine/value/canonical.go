package value

import "sort"

// AppendCanonicalString appends the bytes that json.Marshal returns for a string.
func AppendCanonicalString(dst []byte, s string) []byte { return appendString(dst, s, true) }

// AppendCanonical appends the bytes that json.Marshal returns for Any(i): sorted keys, no white space, with <, > and &
// escaped. Upstream prints bad values and compares list elements in this form. It is also suitable for digests.
func (d *Doc) AppendCanonical(dst []byte, i uint32) []byte {
	n := &d.Nodes[i]
	switch n.Kind {
	case Object:
		members := make([]uint32, 0, n.Live)
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			members = append(members, c)
		}
		sort.Slice(members, func(a, b int) bool { return d.Key(members[a]) < d.Key(members[b]) })
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
		dst = append(dst, '[')
		for c := n.First; c != 0; c = d.Nodes[c].Next {
			if c != n.First {
				dst = append(dst, ',')
			}
			dst = d.AppendCanonical(dst, c)
		}
		return append(dst, ']')
	}
	return d.appendScalar(dst, n, true)
}
