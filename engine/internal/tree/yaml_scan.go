package tree

// yamlScanner reads one ordinary YAML document into a Doc, and writes its JSON text. It handles the part of YAML in
// which manifests are written. All other input is a doubt: a method that returns false cannot prove what the YAML
// library returns, so the library has to read the document. Invalid documents are doubts too.
type yamlScanner struct {
	doc      *Doc
	text     []byte
	source   Source
	maxDepth int
	wide     bool // the scalar that is read has bytes outside ASCII
	odd      bool // a comment has characters that the scanner does not know

	i       int  // the next byte
	column  int  // of the byte at i in its line if it is the first of a line with content; else unknown
	pending bool // the last node, which is that of the root, a key or a dash, has no value yet

	nodes    []Node  // of the Doc
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
// ErrStopped. The YAMLSource and the JSON text are valid until the Doc scans another document for the source. The
// YAMLSource is also invalid after Release.
func (d *Doc) scanYAML(text []byte, s Source, maxDepth int) (y *YAMLSource, root uint32, ok bool, err error) {
	arena := len(d.Src[Arena])
	if s == Arena || len(text) > maxScannedBytes || arena > maxScannedBytes {
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
	r.begin(d, m, text, s, min(maxDepth, maxScannedDepth))
	ok = r.document() && (r.unsorted == 0 || r.sort(0, before))
	d.Nodes = r.nodes
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
	r.doc, r.text, r.nodes, r.out, r.places = nil, nil, nil, nil, nil
	return y, root, ok, err
}

// releaseScans drops the sources and texts of scanned documents, and memory that is too large for the pool. As for a JSON
// document, results can share memory with the text, so no other document may reuse it.
func (d *Doc) releaseScans() {
	if d.scanner != nil && (cap(d.scanner.sorter.nodes) > maxPooledNodes || cap(d.scanner.sorter.text) > maxPooledBytes) {
		d.scanner = nil
	}
	for s, m := range d.scans {
		if m != nil && cap(m.places) > maxPooledNodes {
			d.scans[s] = nil
		} else if m != nil {
			m.source, m.json = YAMLSource{}, nil
		}
	}
}

// yamlScan is the memory of a Doc for a document that was scanned. The next scan reuses it.
type yamlScan struct {
	json   []byte
	places []place
	source YAMLSource
}

func (s *yamlScanner) begin(d *Doc, m *yamlScan, text []byte, source Source, maxDepth int) {
	s.doc, s.text, s.source, s.maxDepth = d, text, source, maxDepth
	s.wide, s.odd = false, false
	s.i, s.column = 0, unknown
	if m.json == nil {
		m.json = make([]byte, 0, len(text)+len(text)/8+64)
	}
	s.nodes, s.out, s.places, s.stopped = d.Nodes, m.json[:0], m.places[:0], false
	s.first, s.unsorted, s.moved = len(d.Nodes), 0, 0
	s.frames = append(s.frames[:0], frame{column: -1, sequence: true})
}

// document reads the whole text. The root must be a collection that begins at the first column.
func (s *yamlScanner) document() bool {
	if s.add(s.frame(), place{key: noKey}) == nil || !s.start() || !s.nextLine() || s.column != 0 {
		return false
	}
	for s.line() {
		if s.column > 0 || s.nextLine() {
			continue
		}
		if s.i < len(s.text) {
			return false
		}
		for len(s.frames) > 1 {
			if !s.close() {
				return false
			}
		}
		return !s.odd && s.nodes[s.first].Kind >= Array
	}
	return false
}

// line reads the line at i, and the lines to which its last value extends.
func (s *yamlScanner) line() bool {
	f := s.frame()
	for s.column < f.column {
		if !s.close() {
			return false
		}
		f = s.frame()
	}
	dash := s.dash()
	if s.pending && s.column == f.column && (f.sequence || !dash) {
		s.absent()
	}
	if !s.pending {
		if s.column != f.column {
			return false
		}
		if f.sequence != dash { // only a sequence at the column of its key can end here
			if !f.sequence || f.column != s.frames[len(s.frames)-2].column || !s.close() {
				return false
			}
		}
	}
	for dash {
		if s.pending && !s.open(Array, s.column) {
			return false
		}
		at := s.i
		if s.add(s.frame(), place{noKey, uint32(at + 1)}) == nil {
			return false
		}
		if s.i++; s.restOfLine() {
			return true
		}
		s.column += s.i - at
		dash = s.dash()
	}
	from, special := s.i, false
	colon, word := s.wordKey()
	to := colon
	if !word {
		if s.pending && s.wordValue(from, to) {
			return true
		}
		if from, to, colon, special = s.readKey(); colon == 0 {
			return s.pending && s.value()
		}
	}
	if s.pending && !s.open(Object, s.column) || !s.addKey(from, to, colon, special) {
		return false
	}
	switch begin := colon + len(": "); {
	case begin <= len(s.text) && s.text[begin-1] == '\n':
		s.i, s.column = begin, unknown
		return true
	case begin < len(s.text) && s.text[begin-1] == ' ' && s.wordValue(begin, plainStop(s.text, begin)):
		return true
	}
	s.i = colon + 1
	return s.restOfLine() || s.value()
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
			i = min(s.comment(i)+1, len(text))
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

// noKey is the offset of the key of an element.
const noKey = ^uint32(0)

// value reads the value at i, to the end of its line at least. It is not a block collection.
func (s *yamlScanner) value() bool {
	switch s.text[s.i] {
	case '|', '>':
		return s.blockScalar()
	case '[', '{':
		return s.flow() && s.restOfLine()
	case '"', '\'':
		return s.quoted() && s.restOfLine()
	default:
		from := s.i
		to, next, special := s.plainLine(from)
		return to > from && (next == len(s.text) || s.text[next] != ':') && s.plainScalar(from, to, next, special)
	}
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
		i = s.comment(i)
	}
	s.i, s.column = min(i+1, len(s.text)), unknown
	return true
}

// comment returns the index of the line break that ends the comment at i, or the length of the text.
func (s *yamlScanner) comment(i int) int {
	text, wide := s.text, s.wide
	for i < len(text) && text[i] != '\n' {
		size := 1
		if c := text[i]; (c < ' ' || c >= 0x7f) && c != '\t' {
			if size = s.printable(i); size == 0 {
				s.odd = true
				return len(text)
			}
		}
		i = textStop(text, i+size)
	}
	s.wide = wide // the comment is not part of the scalar
	return i
}
