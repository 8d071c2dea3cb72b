package value

import "bytes"

// yamlScanner reads one ordinary YAML document into a Doc, and writes its JSON text. It handles the part of YAML in
// which manifests are written. All other input is a doubt: a method that returns false cannot prove what the YAML
// library returns, so the library has to read the document. Invalid documents are doubts too.
type yamlScanner struct {
	doc      *Doc
	text     []byte
	source   Source
	maxDepth int
	ascii    bool // the text has no other bytes

	i       int  // the next byte
	column  int  // of the byte at i in its line if it is the first of the line that is not a space; else unknown
	pending bool // the last node, which is that of the root, a key or a dash, has no value yet

	out      []byte  // the JSON text
	frames   []frame // the open containers
	places   []place // of the nodes
	first    int     // index of the first node
	unsorted int     // number of objects with unsortedKeys
	moved    int     // number of nodes that sorting has moved
	stopped  bool
	sorter   yamlSorter
}

// unknown is the column at the beginning of a line.
const unknown = -1

// frame is an open container. The first frame has the root.
type frame struct {
	node     uint32
	last     uint32 // its last member
	column   int    // of its keys or dashes; -1 around the root
	sequence bool
}

// frame returns the innermost open container.
func (s *yamlScanner) frame() *frame { return &s.frames[len(s.frames)-1] }

// place holds the offsets of a node in the YAML text.
type place struct{ key, value uint32 }

// unsortedKeys marks an object whose keys are not in ascending order for the sorter. It is only set during a scan.
const unsortedKeys Flags = 1 << 7

// The scanner reads texts within these limits.
const (
	maxScannedBytes = 1 << 27
	maxScannedDepth = 1000
)

// scanYAML parses an ordinary YAML document. ok is false on a doubt, and then the Doc is unchanged. The error is nil or
// ErrStopped. The YAMLSource is valid until the Doc is released, or scans another document for the source.
func (d *Doc) scanYAML(text []byte, s Source, maxDepth int) (y *YAMLSource, root uint32, ok bool, err error) {
	ascii, valid := plainText(text)
	arena := len(d.Src[Arena])
	if !valid || s == Arena || len(text) > maxScannedBytes || arena > maxScannedBytes {
		return nil, 0, false, nil
	}
	if len(d.Nodes) == 0 {
		d.Nodes = append(d.Nodes, Node{})
	}
	before := len(d.Nodes)
	m := d.scans[s]
	if m == nil {
		m = new(yamlScan)
		d.scans[s] = m
	}
	if d.scanner == nil {
		d.scanner = new(yamlScanner)
	}
	r := d.scanner
	r.begin(d, m, text, s, min(maxDepth, maxScannedDepth), ascii)
	ok = r.document() && (r.unsorted == 0 || r.sort(0, before))
	root = d.Nodes[0].First
	d.Nodes[0] = Node{}
	m.json, m.places = r.out, r.places
	if ok {
		d.Src[s] = m.json
		d.forget(s)
		m.source = YAMLSource{text: text, json: m.json, places: m.places}
		y = &m.source
		d.roots[s], d.yaml[s] = root, y
	} else {
		if r.stopped {
			err = ErrStopped
		}
		d.Nodes, d.Src[Arena] = d.Nodes[:before], d.Src[Arena][:arena]
	}
	r.doc, r.text, r.out, r.places = nil, nil, nil, nil
	return y, root, ok, err
}

// releaseScans drops the sources of scanned documents, and memory that is too large for the pool.
func (d *Doc) releaseScans() {
	if d.scanner != nil && (cap(d.scanner.sorter.nodes) > maxPooledNodes || cap(d.scanner.sorter.text) > maxPooledBytes) {
		d.scanner = nil
	}
	for s, m := range d.scans {
		if m != nil && (cap(m.json) > maxPooledBytes || cap(m.places) > maxPooledNodes) {
			d.scans[s] = nil
		} else if m != nil {
			m.source = YAMLSource{}
		}
	}
}

// yamlScan is the memory of a Doc for a document that was scanned. The next scan reuses it.
type yamlScan struct {
	json   []byte
	places []place
	source YAMLSource
}

func (s *yamlScanner) begin(d *Doc, m *yamlScan, text []byte, source Source, maxDepth int, ascii bool) {
	s.doc, s.text, s.source, s.maxDepth, s.ascii = d, text, source, maxDepth, ascii
	s.i, s.column = 0, unknown
	s.out, s.places, s.stopped = m.json[:0], m.places[:0], false
	s.first, s.unsorted, s.moved = len(d.Nodes), 0, 0
	s.frames = append(s.frames[:0], frame{column: -1, sequence: true})
}

// document reads the whole text. The root must be a collection.
func (s *yamlScanner) document() bool {
	if !s.add(s.frame(), 0, 0, Request, place{key: noKey}) || !s.start() {
		return false
	}
	for s.nextLine() {
		f := s.frame()
		for s.column < f.column {
			if !s.close() {
				return false
			}
			f = s.frame()
		}
		if s.pending && s.column == f.column && (f.sequence || !s.dash()) {
			s.absent()
		}
		switch {
		case s.pending:
			if !s.value(s.column, true) {
				return false
			}
			continue
		case s.column != f.column:
			return false
		case f.sequence && s.dash():
			if !s.entry(s.column) {
				return false
			}
			continue
		case f.sequence:
			if f.column != s.frames[len(s.frames)-2].column || !s.close() {
				return false // only a sequence at the column of its key can end here
			}
		}
		if !s.members(s.wordKey()) {
			return false
		}
	}
	if s.i < len(s.text) || s.pending && len(s.frames) == 1 {
		return false
	}
	for len(s.frames) > 1 {
		if !s.close() {
			return false
		}
	}
	return true
}

// start skips the marker of the document, and the lines before it.
func (s *yamlScanner) start() bool {
	if s.nextLine() || s.i == len(s.text) || s.text[s.i] != '-' {
		return true
	}
	s.i += len("---")
	return s.restOfLine()
}

// nextLine goes to the first byte of the next line with content. It returns false at the end, and for a document
// marker.
func (s *yamlScanner) nextLine() bool {
	text, i, column := s.text, s.i, s.column
	for {
		if column == unknown {
			begin := i
			i = spaces(text, i)
			column = i - begin
		}
		s.i, s.column = i, column
		if i >= len(text) {
			return false
		}
		switch text[i] {
		case '\n':
			i++
		case '#':
			i = min(lineEnd(text, i)+1, len(text))
		case '-', '.':
			return column > 0 || len(text)-i < 3 || text[i+1] != text[i] || text[i+2] != text[i]
		default:
			return true
		}
		column = unknown
	}
}

// dash reports whether a dash of a sequence is next.
func (s *yamlScanner) dash() bool {
	return s.text[s.i] == '-' && (s.i+1 == len(s.text) || s.text[s.i+1] == ' ' || s.text[s.i+1] == '\n')
}

// entry reads an element of the innermost sequence from its dash.
func (s *yamlScanner) entry(column int) bool {
	dash := s.i
	if !s.element(dash + 1) {
		return false
	}
	if s.i++; s.restOfLine() {
		return true
	}
	return s.value(column+s.i-dash, true)
}

// element adds the node of the next element of the innermost sequence. empty is the position that an absent value has.
func (s *yamlScanner) element(empty int) bool {
	f := s.frame()
	if f.last != 0 {
		s.out = append(s.out, ',')
	}
	return s.add(f, s.doc.Nodes[f.node].Live, 0, Request, place{noKey, uint32(empty)})
}

// noKey is the offset of the key of an element.
const noKey = ^uint32(0)

// members reads the next member of the innermost mapping, whose key is text[s.i:end] if word is set. It also reads the
// members in the lines that follow while their keys and values are plain words, or objects of such members.
func (s *yamlScanner) members(end int, word bool) bool {
	if !word {
		from, to, colon, special := s.readKey()
		return colon > 0 && s.addKey(from, to, colon, special) && s.afterKey(colon)
	}
	column := s.frame().column
	for word {
		if !s.addKey(s.i, end, end, false) {
			return false
		}
		begin := end + len(": ")
		if s.text[begin-1] == '\n' {
			s.i, s.column = begin, unknown
			if !s.nextLine() || s.column <= column {
				break
			}
			if end, word = s.wordKey(); word {
				if column = s.column; !s.open(Object, column) {
					return false
				}
			}
			continue
		}
		if begin == len(s.text) || !s.wordValue(begin, begin) {
			return s.afterKey(end)
		}
		if s.column != column {
			break
		}
		end, word = s.wordKey()
	}
	return true
}

// afterKey reads what follows a key in its line.
func (s *yamlScanner) afterKey(colon int) bool {
	s.i = colon + 1
	if text := s.text; len(text)-s.i > 2 && text[s.i] == ' ' && text[s.i+1] > '#' {
		s.i++
		return s.value(0, false)
	}
	return s.restOfLine() || s.value(0, false)
}

// value reads the value at i, to the end of its line at least. A block collection may begin there only if nested is set;
// column is then that of the value.
func (s *yamlScanner) value(column int, nested bool) bool {
	if len(s.frames) == 1 && column != 0 {
		return false // an indented root
	}
	switch c := s.text[s.i]; c {
	case '|', '>':
		return len(s.frames) > 1 && s.blockScalar()
	case '[', '{':
		return s.flow() && s.restOfLine()
	case '"', '\'':
		if nested {
			if from, to, colon, special := s.readKey(); colon > 0 {
				return s.mapping(column, from, to, colon, special)
			}
		}
		return len(s.frames) > 1 && s.quoted() && s.restOfLine()
	default:
		if nested && s.dash() {
			return s.open(Array, column) && s.entry(column)
		}
		from, end := s.i, s.i
		if nested {
			var word bool
			if end, word = s.wordKey(); word {
				return s.open(Object, column) && s.members(end, true)
			}
		}
		if len(s.frames) > 1 && s.wordValue(from, end) {
			return true
		}
		to, next, special := s.plainLine(from)
		if next < len(s.text) && s.text[next] == ':' {
			return nested && s.plainKey(from, to, next) && s.mapping(column, from, to, next, special)
		}
		return to > from && len(s.frames) > 1 && s.plainScalar(from, to, next, special)
	}
}

// mapping opens a block mapping at its first key.
func (s *yamlScanner) mapping(column, from, to, colon int, special bool) bool {
	return s.open(Object, column) && s.addKey(from, to, colon, special) && s.afterKey(colon)
}

// restOfLine goes to the next line. If the line has more content, it skips the spaces before it and returns false.
func (s *yamlScanner) restOfLine() bool {
	i := s.i
	for i < len(s.text) && s.text[i] == ' ' {
		i++
	}
	if i < len(s.text) && s.text[i] != '\n' {
		if s.text[i] != '#' || i == s.i {
			s.i = i
			return false
		}
		i = lineEnd(s.text, i)
	}
	s.i, s.column = min(i+1, len(s.text)), unknown
	return true
}

// lineEnd returns the index of the line break that ends the line of i, or the length of the text.
func lineEnd(text []byte, i int) int {
	if k := bytes.IndexByte(text[i:], '\n'); k >= 0 {
		return i + k
	}
	return len(text)
}
