package workspace

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Read returns the manifests of a text as kubectl reads a file. Where kubectl cannot read it, there is a manifest with
// an error.
func Read(content []byte) []*Manifest { return ReadText(tree.NewText(content, tree.Position{})) }

// ReadText is Read for a Text.
func ReadText(text *document.Text) []*Manifest {
	r := &reader{text: text}
	begin := 0
	if bytes.HasPrefix(text.Bytes(), byteOrderMark) {
		begin = len(byteOrderMark)
	}
	if begin = r.values(begin); begin >= 0 {
		r.documents(begin)
	}
	readAll(r.manifests, (*Manifest).read)
	return r.expanded()
}

// reader collects the manifests of a text.
type reader struct {
	text      *tree.Text
	manifests []*Manifest // documents, not identified yet
}

// sniffed is the number of bytes in which kubectl looks for the brace of JSON.
const sniffed = 4096

// byteOrderMark may be before the text. kubectl drops it.
var byteOrderMark = []byte("\ufeff")

// values reads the JSON values from an offset. It returns the offset from which the text is YAML, or -1.
// After two values, all the text is JSON.
func (r *reader) values(begin int) (yaml int) {
	text := r.text.Bytes()
	space := bytes.IndexFunc(text[begin:], func(c rune) bool { return !unicode.IsSpace(c) })
	if space < 0 || space >= sniffed || text[begin+space] != '{' {
		return begin
	}
	for count, at := 0, begin; ; count++ {
		v, ok := tree.NextJSON(text, at)
		if !ok {
			return -1 // the end
		}
		content := text[v.Begin:v.End]
		if kind, items, isList := tree.PeekList(content); isList && isListKind(kind) || json.Valid(content) {
			if wrong := invalidUTF8(content); wrong >= 0 { // kubectl replaces it
				r.unreadable(v.Begin+wrong, "invalid JSON: this byte is not UTF-8")
				at = v.End
				continue
			}
			m := part(r.text, v.Begin, v.End, true)
			if isListKind(kind) {
				m.Kind, m.list = kind, items
			}
			r.manifests = append(r.manifests, m)
			at = v.End
			continue
		}
		next, ok := afterLine(text, at)
		switch {
		case count > 1:
			r.unreadable(v.Begin, "after two JSON documents, all others must be JSON too: kubectl does not read YAML here")
			return -1
		case !ok:
			r.unreadable(v.Begin, "invalid JSON: kubectl does not read such a short text as YAML")
			return -1
		}
		return next
	}
}

// invalidUTF8 returns the offset of the first byte that is not UTF-8, or -1.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for at := 0; ; {
		c, size := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

// afterLine returns the offset after the white space at an offset, in the same line. ok is false if kubectl, which looks
// at four bytes, finds the end of the text.
func afterLine(text []byte, at int) (next int, ok bool) {
	for len(text)-at >= utf8.UTFMax {
		c, size := utf8.DecodeRune(text[at:])
		switch {
		case c == '\n':
			return at + size, true
		case c == utf8.RuneError:
			return at, false
		case !unicode.IsSpace(c):
			return at, true
		}
		at += size
	}
	return at, false
}

// documents reads the YAML documents from an offset. A line that begins with --- separates them, whatever YAML says. It is
// a part of the document only if it is its first line.
func (r *reader) documents(begin int) {
	text, at := r.text.Bytes(), begin
	empty, content, rejected := true, false, false // of the document
	end := func(next int) {
		switch {
		case rejected:
			m := r.manifests[len(r.manifests)-1]
			m.whole = tree.Span{Begin: m.begin, End: at}
		case content:
			r.manifests = append(r.manifests, part(r.text, begin, at, false))
		}
		begin, empty, content, rejected = next, true, false, false
	}
	for line := range bytes.Lines(text[begin:]) {
		next := at + len(line)
		rest, separates := bytes.CutPrefix(line, []byte("---"))
		rest = bytes.TrimSpace(rest)
		switch {
		case !separates:
			empty, content = false, content || tree.HasContentIn(line)
		case len(rest) > 0 && rest[0] != '#':
			end(next)
			empty, rejected = false, true
			r.unreadable(at, "only a comment may follow the separator ---: kubectl does not read this document")
		case empty:
			empty = false
		default:
			end(next)
		}
		at = next
	}
	end(at)
}

// unreadable adds a manifest with an error.
func (r *reader) unreadable(offset int, message string) {
	origin := r.text.At(offset)
	r.manifests = append(r.manifests, failed(origin, offset, engine.Violation{
		Type: engine.TypeSyntax, Message: message, Position: ptr(r.text.Position(offset)),
	}))
}

// failed returns a manifest without content that cannot be read for a reason.
func failed(origin *tree.Origin, begin int, reason engine.Violation) *Manifest {
	m := &Manifest{origin: origin, begin: begin}
	m.Document = engine.Document{YAML: []byte{}, Origin: m.origin}
	reason.Detail, reason.Step = reason.Message, engine.StepDecode
	m.Err = &engine.Error{
		Reason: engine.ReasonManifestUnreadable, Message: reason.Message, Position: reason.Position,
		Violations: []engine.Violation{reason},
	}
	return m
}

func ptr[T any](v T) *T { return &v }

// readAll calls read for each manifest, with several goroutines. A panic is the error of its manifest.
func readAll(list []*Manifest, read func(*Manifest)) {
	readOne := func(m *Manifest) {
		defer host.Recover(&m.Err)
		read(m)
	}
	var group sync.WaitGroup
	for part := range slices.Chunk(list, len(list)/runtime.GOMAXPROCS(0)+1) {
		group.Go(func() {
			for _, m := range part {
				if m.Err == nil && m.list == nil {
					readOne(m)
				}
			}
		})
	}
	group.Wait()
}

// read sets the identity of a manifest and cuts its text.
func (m *Manifest) read() {
	m.identify()
	m.cut()
}

// cut removes the text after the end of the document, which kubectl ignores, and adds a warning.
func (m *Manifest) cut() {
	if m.Err != nil || m.Document.YAML == nil {
		return
	}
	end, found := tree.IgnoredText(m.Document.YAML)
	if !found {
		return
	}
	at := m.Text().Position(m.begin + end)
	if end == 0 || m.Document.YAML[end-1] == '\n' || !bytes.ContainsAny(m.Document.YAML, "|>") { // else its last line would change
		m.Document.YAML = m.Document.YAML[:end]
	}
	m.Warnings = append(m.Warnings, engine.Warning{
		Type: engine.TypeNotice, Position: &at,
		Text: "kubectl ignores this text: the document ends before it, and only --- begins another one",
	})
}

// isNull reports whether a manifest is null, which kubectl skips.
func (m *Manifest) isNull() bool {
	return m.Err == nil && m.Kind == "" && m.APIVersion == "" && bytes.Equal(bytes.TrimSpace(m.JSON()), []byte("null"))
}
