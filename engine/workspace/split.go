package workspace

import (
	"bytes"
	"encoding/json"
	"runtime"
	"slices"
	"sync"
	"unicode"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
)

// Read returns the manifests of a text as kubectl reads a file. Where kubectl cannot read it, there is a manifest with
// an error.
func Read(content []byte) []*Manifest { return ReadText(value.NewText(content)) }

// ReadText is Read for a Text.
func ReadText(text *value.Text) []*Manifest {
	r := &reader{text: text}
	if begin := r.values(); begin >= 0 {
		r.documents(begin)
	}
	identify(r.manifests)
	return r.expanded()
}

// reader collects the manifests of a text.
type reader struct {
	text      *value.Text
	manifests []*Manifest // documents, not identified yet
}

// sniffed is the number of bytes in which kubectl looks for the brace of JSON.
const sniffed = 4096

// values reads the JSON values at the beginning of the text. It returns the offset from which the text is YAML, or -1.
// After two values, all the text is JSON.
func (r *reader) values() (yaml int) {
	text := r.text.Bytes()
	begin := bytes.IndexFunc(text, func(c rune) bool { return !unicode.IsSpace(c) })
	if begin < 0 || begin >= sniffed || text[begin] != '{' {
		return 0
	}
	for count, at := 0, 0; ; count++ {
		v, ok := value.NextJSON(text, at)
		if !ok {
			return -1 // the end
		}
		content := text[v.Begin:v.End]
		if kind, items, isList := value.PeekList(content); isList && isListKind(kind) || json.Valid(content) {
			m := part(r.text, v.Begin, v.End, true)
			if isListKind(kind) {
				m.Kind, m.list = kind, items
			}
			r.manifests = append(r.manifests, m)
			at = v.End
			continue
		}
		if count > 1 {
			r.unreadable(v.Begin, "after two JSON documents, all others must be JSON too: kubectl does not read YAML here")
			return -1
		}
		return afterLine(text, at)
	}
}

// afterLine returns the offset after the white space at an offset, in the same line.
func afterLine(text []byte, at int) int {
	for i, c := range string(text[at:]) {
		if c == '\n' {
			return at + i + 1
		}
		if !unicode.IsSpace(c) {
			return at + i
		}
	}
	return len(text)
}

// documents reads the YAML documents from an offset. A line that begins with --- separates them, whatever YAML says.
func (r *reader) documents(begin int) {
	text := r.text.Bytes()
	content, rejected := false, false // of the document
	end := func(at int) {
		switch {
		case rejected:
			r.manifests[len(r.manifests)-1].Document.YAML = text[begin:at]
		case content:
			r.manifests = append(r.manifests, part(r.text, begin, at, false))
		}
		begin, content, rejected = at, false, false
	}
	at := begin
	for line := range bytes.Lines(text[begin:]) {
		next := at + len(line)
		rest, separates := bytes.CutPrefix(line, []byte("---"))
		switch {
		case !separates:
			content = content || value.HasContent(line)
		default:
			end(at)
			if rest = bytes.TrimSpace(rest); len(rest) > 0 && rest[0] != '#' {
				rejected = true
				r.unreadable(at, "only a comment may follow the separator ---: kubectl does not read this document")
			}
		}
		at = next
	}
	end(at)
}

// unreadable adds a manifest with an error.
func (r *reader) unreadable(offset int, message string) {
	at := r.text.Position(offset)
	m := &Manifest{origin: r.text.At(offset), begin: offset}
	m.Document = engine.Document{YAML: []byte{}, Origin: &m.origin}
	m.Err = &engine.Error{Reason: engine.ReasonManifestUnreadable, Message: message, Position: &at}
	r.manifests = append(r.manifests, m)
}

// identify sets the identities of manifests, with several goroutines.
func identify(list []*Manifest) {
	var group sync.WaitGroup
	for part := range slices.Chunk(list, len(list)/runtime.GOMAXPROCS(0)+1) {
		group.Go(func() {
			for _, m := range part {
				if m.Err == nil && m.list == nil {
					m.identify()
				}
			}
		})
	}
	group.Wait()
}

// isNull reports whether a manifest is null, which kubectl skips.
func (m *Manifest) isNull() bool {
	return m.Err == nil && m.Kind == "" && m.APIVersion == "" && bytes.Equal(bytes.TrimSpace(m.JSON()), []byte("null"))
}
