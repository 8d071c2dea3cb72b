package tree

import (
	"bytes"
	gojson "encoding/json"
	"errors"
	"slices"
	"unsafe"

	kjson "sigs.k8s.io/json"
)

// ParseJSON parses one JSON value as the Request and returns its root.
func (d *Doc) ParseJSON(src []byte, l Limits) (root uint32, err error) {
	return d.Parse(src, Request, l)
}

// Parse parses one JSON value into the Doc and returns its root. Request, Defaults and Old hold one text each and keep
// referring to src. For Arena the text is appended, so any number of values can be added. Grammar, numbers, invalid
// UTF-8 and depth are handled as by UnmarshalCaseSensitivePreserveInts of sigs.k8s.io/json. The last of several
// duplicate keys is kept at its own position; Duplicates reports them.
//
// The error is a *LimitError, a *SyntaxError (also for numbers out of range) or ErrStopped. On error no node is added.
func (d *Doc) Parse(src []byte, s Source, l Limits) (root uint32, err error) {
	l = l.WithDefaults()
	if len(src) > l.MaxBytes {
		return 0, tooLarge(len(src), l.MaxBytes)
	}
	arena := len(d.Src[Arena])
	if len(src)+arena/4 > maxSource {
		return 0, tooLarge(arena+len(src), maxSource)
	}
	if len(d.Nodes) == 0 {
		d.Nodes = append(d.Nodes, Node{})
	}
	before := len(d.Nodes)
	begin := 0
	if s == Arena {
		begin = arena
		d.Src[Arena] = append(d.Src[Arena], src...)
	} else {
		d.Src[s] = src
	}
	d.forget(s)
	d.reserve(src)
	d.spaced = false
	nodes, failed := d.read(d.Nodes, d.Src[s], begin, s, l.MaxDepth)
	if d.spaced {
		markSpaced(nodes[before:])
	}
	d.Nodes = nodes
	root = d.Nodes[0].First
	d.Nodes[0] = Node{}
	if failed == 0 && d.duplicates[s] <= maxDuplicatePaths {
		d.roots[s] = root
		return root, nil
	}
	d.Nodes, d.Src[Arena] = d.Nodes[:before], d.Src[Arena][:arena]
	if failed == 0 {
		return 0, &LimitError{Name: "max_path_bytes", Limit: "paths of duplicate keys", Unit: "bytes",
			Maximum: maxDuplicatePaths, Actual: int64(d.duplicates[s]), AtLeast: true, Advice: "remove the duplicate keys"}
	}
	if failed == failedDepth && l.MaxDepth < upstreamDepth {
		return 0, tooDeep(l.MaxDepth)
	}
	if failed == failedStopped {
		return 0, ErrStopped
	}
	size := DecodedSize(src)
	if d.work != nil {
		if !d.work.Grow(size) {
			return 0, ErrStopped
		}
		defer d.work.Grow(-size)
	}
	return 0, syntaxError(src)
}

// skipInside is skipSpace within the root. It notes white space.
func (d *Doc) skipInside(text []byte, i int) int {
	if i < len(text) && text[i] <= ' ' {
		d.spaced = true
		return skipIndent(text, i)
	}
	return i
}

// markSpaced sets Spaced for all containers.
func markSpaced(nodes []Node) {
	for i := range nodes {
		if n := &nodes[i]; n.Kind >= Array {
			n.Flags |= Spaced
		}
	}
}

// ErrStopped is the error of a Parse that was interrupted through StopOn.
var ErrStopped = errors.New("stopped before the document was read")

// StopOn makes Parse call work.Stopped at least every millisecond, and return ErrStopped when it returns true. The Doc
// reports to the work how much larger it becomes than a Doc of the pool. Both apply until Release.
func (d *Doc) StopOn(work Work) { d.work = work }

func (d *Doc) stopped() bool { return d.work != nil && d.work.Stopped() }

// reserve allocates the nodes of a long text at once, which avoids repeated copies while the array grows.
func (d *Doc) reserve(src []byte) {
	if len(src) < longText {
		return
	}
	if more := 1 + maxValues(src); cap(d.Nodes)-len(d.Nodes) < more {
		d.charge(len(d.Nodes) + more)
		if !d.stopped() {
			d.Nodes = slices.Grow(d.Nodes, more)
		}
	}
}

// maxValues returns an upper bound of the number of values in a text, or in a part of it, besides the root.
func maxValues(src []byte) int {
	values := bytes.Count(src, []byte{','}) + bytes.Count(src, []byte{'{'}) + bytes.Count(src, []byte{'['})
	return min(values, (len(src)+1)/2) // a value takes at least two bytes
}

// MaxTreeSize returns an upper bound of the memory of the nodes of a text, or of a part of it, besides the root, in bytes.
func MaxTreeSize(src []byte) int { return maxValues(src) * int(unsafe.Sizeof(Node{})) }

// DecodedSize estimates the memory of a text that encoding/json decodes into maps, or that is converted from YAML.
func DecodedSize(src []byte) int64 {
	const perValue = 192
	return int64(maxValues(src)+bytes.Count(src, []byte{'\n'})) * perValue
}

const (
	// longText is the length in bytes from which reserve counts the nodes of a text.
	longText = 1 << 16
	// stopEvery is the number of values between two checks for a stop, a power of two. It takes less than a
	// millisecond.
	stopEvery = 1 << 13
)

// failure is the reason why read stopped; 0 is success.
type failure uint8

const (
	failedSyntax failure = 1 + iota
	failedDepth
	failedStopped
)

// syntaxError returns upstream's error for a document that the parser rejected.
func syntaxError(src []byte) error {
	var v any
	err := kjson.UnmarshalCaseSensitivePreserveInts(src, &v)
	if err == nil {
		// Unreachable as long as both parsers accept the same documents, which fuzzing checks.
		err = errors.New("invalid JSON: the document was rejected for an unknown reason; please report it")
	}
	e := &SyntaxError{Offset: -1, Text: err.Error(), Cause: err}
	var wrongType *gojson.UnmarshalTypeError
	if ok, offset := kjson.SyntaxErrorOffset(err); ok {
		// Upstream counts the bytes read: the last one is the invalid one, unless the text ended too early.
		e.Offset = int(offset) - 1
		if e.Text == "unexpected end of JSON input" {
			e.Offset = len(bytes.TrimRight(src, " \t\r\n")) // on the last line with content
		}
	} else if errors.As(err, &wrongType) {
		e.Offset = max(int(wrongType.Offset)-len(wrongType.Value)+len("number ")-1, 0)
	}
	if e.Offset >= 0 {
		e.Offset = min(e.Offset, len(src))
		e.Line, e.Column = lineAndColumn(src, e.Offset)
	}
	return e
}

// read parses in one pass, without recursion, and without allocation while the arrays are large enough. Nodes[0] is the
// container of the root. An open container uses its fields differently: Next is its parent, Val is a set of key hashes,
// and a nonzero End means that there may be duplicate keys.
func (d *Doc) read(nodes []Node, text []byte, i int, s Source, maxDepth int) ([]Node, failure) {
	var (
		n       = len(text)
		cur     uint32 // the open container
		last    uint32 // its last member
		depth   int
		key     uint32
		keyLen  uint32
		keySrc  Source
		lossy   Flags // of the key
		flags   Flags
		val     uint64
		closing int
		ok      bool
	)
	i = skipSpace(text, i)
value:
	i = d.skipInside(text, i)
	if i >= n {
		return nodes, failedSyntax
	}
	if len(nodes) == cap(nodes) {
		if d.charge(2 * cap(nodes)); len(nodes) >= stopEvery && d.stopped() {
			return nodes, failedStopped
		}
		nodes = append(nodes, Node{})[:len(nodes)]
	}
	{
		me := uint32(len(nodes))
		if me%stopEvery == 0 && d.stopped() {
			return nodes, failedStopped
		}
		nodes = nodes[:me+1]
		p := &nodes[me]
		parent := &nodes[cur]
		if parent.Kind == Array {
			key = parent.Live
		}
		// Assign field by field: a composite literal would be built elsewhere and then copied.
		p.Kind, p.Flags, p.Src, p.KeySrc = Null, 0, s, keySrc
		p.KeyLen, p.Key = keyLen, key
		p.Next, p.First = 0, 0
		p.Off, p.End = uint32(i), 0
		p.Live, p.Val = 0, 0
		parent.Live++
		if last == 0 {
			parent.First = me
		} else {
			nodes[last].Next = me
		}
		switch c := text[i]; c {
		case '"':
			j := plain(text, i+1)
			if j < n && text[j] == '"' {
				p.Kind, p.End = String, uint32(j+1)
				i, last = j+1, me
				break
			}
			if closing, flags, val, ok = d.readString(text, i, j); !ok {
				return nodes, failedSyntax
			}
			p.Kind, p.Flags, p.Val, p.End = String, flags, val, uint32(closing+1)
			parent.Flags |= flags & Lossy
			i, last = closing+1, me
		case '{', '[':
			if depth++; depth > maxDepth {
				return nodes, failedDepth
			}
			p.Kind, p.Next = Object, cur
			cur, last = me, 0
			i++
			if c == '{' {
				goto firstKey
			}
			p.Kind = Array
			i = d.skipInside(text, i)
			keySrc, keyLen = Request, 0
			if i < n && text[i] == ']' {
				goto closed
			}
			goto value
		case 't':
			if n-i < 4 || string(text[i:i+4]) != "true" {
				return nodes, failedSyntax
			}
			i += 4
			p.Kind, p.End, last = True, uint32(i), me
		case 'f':
			if n-i < 5 || string(text[i:i+5]) != "false" {
				return nodes, failedSyntax
			}
			i += 5
			p.Kind, p.End, last = False, uint32(i), me
		case 'n':
			if n-i < 4 || string(text[i:i+4]) != "null" {
				return nodes, failedSyntax
			}
			i += 4
			p.Kind, p.End, last = Null, uint32(i), me
		default:
			if i = readNumber(text, i, p); i < 0 {
				return nodes, failedSyntax
			}
			parent.Flags |= p.Flags & Lossy
			last = me
		}
	}

after:
	if cur == 0 {
		if i = skipSpace(text, i); i != n {
			return nodes, failedSyntax
		}
		return nodes, 0
	}
	if i = d.skipInside(text, i); i >= n {
		return nodes, failedSyntax
	}
	if nodes[cur].Kind == Array {
		switch text[i] {
		case ',':
			i++
			keySrc, keyLen = Request, 0
			goto value
		case ']':
			goto closed
		}
		return nodes, failedSyntax
	}
	switch text[i] {
	case ',':
		i++
		goto nextKey
	case '}':
		goto closed
	}
	return nodes, failedSyntax

firstKey:
	i = d.skipInside(text, i)
	if i < n && text[i] == '}' {
		goto closed
	}

nextKey:
	i = d.skipInside(text, i)
	if i >= n || text[i] != '"' {
		return nodes, failedSyntax
	}
	{
		j := plain(text, i+1)
		name := text
		key, keySrc, lossy = uint32(i+1), s, 0
		if j < n && text[j] == '"' {
			keyLen = uint32(j - i - 1)
			i = j + 1
		} else {
			if closing, flags, val, ok = d.readString(text, i, j); !ok {
				return nodes, failedSyntax
			}
			keyLen, lossy = uint32(closing-i-1), flags&Lossy
			if flags&Escaped != 0 {
				name, key, keyLen, keySrc = d.Src[Arena], uint32(val>>32), uint32(val), Arena
			}
			i = closing + 1
		}
		object := &nodes[cur]
		object.Flags |= lossy
		bit := uint64(1)
		if keyLen > 0 {
			h := uint32(name[key]) | uint32(name[key+keyLen-1])<<8 | keyLen<<16
			bit <<= h * 2654435761 >> 26
		}
		if object.Val&bit != 0 {
			object.End = 1
		}
		object.Val |= bit
	}
	i = d.skipInside(text, i)
	if i >= n || text[i] != ':' {
		return nodes, failedSyntax
	}
	i++
	goto value

closed:
	{
		i++
		p := &nodes[cur]
		suspicious := p.End != 0
		p.End, p.Val = uint32(i), 0
		parent := p.Next
		if suspicious && p.Live > 1 {
			d.Nodes = nodes
			d.dropDuplicates(cur, s)
		}
		p.Next = 0
		nodes[parent].Flags |= p.Flags & Lossy
		last, cur = cur, parent
		depth--
	}
	goto after
}
