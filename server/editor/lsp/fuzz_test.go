package lsp

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

// FuzzPositions compares the mapping of offsets and positions with one that encodes the text as UTF-16.
func FuzzPositions(f *testing.F) {
	for _, text := range []string{"", "a\nb", "a\r\nb\rc", "🚀\n🚀é", "\xff\xfe\n\xf0\x9f", "a\u2028b"} {
		f.Add(text, 1, uint32(1), uint32(1))
	}
	f.Fuzz(func(t *testing.T, text string, offset int, line, character uint32) {
		l := newLineIndex([]byte(text))
		p := l.position(offset)
		if offset >= 0 && offset <= len(text) && boundary(text, offset) {
			if want := referencePosition(text[:offset], strings.HasPrefix(text[offset:], "\n")); p != want {
				t.Errorf("position of %d in %q: %+v, want %+v", offset, text, p, want)
			}
			if at := l.offset(p); at != offset && !strings.ContainsAny(text[min(at, offset):max(at, offset)], "\r\n") {
				t.Errorf("offset of %+v in %q: %d, want %d", p, text, at, offset)
			}
		}
		at := l.offset(Position{line, character})
		if at < 0 || at > len(text) || !boundary(text, at) {
			t.Errorf("offset %d of line %d character %d in %q", at, line, character, text)
		}
	})
}

// boundary reports whether an offset is not inside a character.
func boundary(text string, offset int) bool {
	at := 0
	for at < offset {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at == offset
}

// referencePosition returns the position of the end of a text. newline says that a \n follows.
func referencePosition(before string, newline bool) Position {
	last := strings.HasSuffix(before, "\r") && newline
	if last {
		before = before[:len(before)-1]
	}
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(before, "\r\n", "\n"), "\r", "\n"), "\n")
	p := Position{
		Line: uint32(len(lines) - 1), Character: uint32(len(utf16.Encode([]rune(lines[len(lines)-1])))),
	}
	if last {
		p.Character++
	}
	return p
}

// FuzzEdits checks that incremental changes do what they do to the whole text.
func FuzzEdits(f *testing.F) {
	f.Add("a: 🚀\nb: c\n", "x\n", uint32(0), uint32(3), uint32(1), uint32(0))
	f.Fuzz(func(t *testing.T, text, insert string, line, character, endLine, endCharacter uint32) {
		r := Range{Position{line, character}, Position{endLine, endCharacter}}
		got := apply([]byte(text), []ContentChange{{&r, insert}})
		if len(got) < len(insert) || len(got) > len(text)+len(insert) || !bytes.Contains(got, []byte(insert)) {
			t.Errorf("%q in %q at %+v: %q", insert, text, r, got)
		}
		if whole := apply([]byte(text), []ContentChange{{nil, insert}}); string(whole) != insert {
			t.Errorf("%q, want %q", whole, insert)
		}
	})
}

// FuzzAnswers checks that the answers to requests about any text are no errors.
func FuzzAnswers(f *testing.F) {
	for _, text := range []string{object, "{\"a\": {\"b\": [1, 2,]}", "a: 'x\nb: \"y", "--- a\n...\n---\n&x a: !t *x", "\ta: b\n"} {
		f.Add(text, 3)
	}
	f.Fuzz(func(t *testing.T, text string, offset int) {
		if len(text) > 1<<12 {
			return
		}
		s := &server{}
		s.workspace.load(t.Context(), nil, Settings{}, map[string][]byte{"/crd.yaml": []byte(crd)})
		of := &file{uri: "file:///a.yaml", path: "/a.yaml", text: []byte(text)}
		p := &documentParams{Position: newLineIndex(of.text).position(offset)}
		p.Range = Range{p.Position, p.Position}
		for _, answer := range []func(context.Context, *file, *documentParams) (any, error){
			s.completion, s.hover, s.symbols, s.codeActions,
		} {
			if _, err := answer(t.Context(), of, p); err != nil {
				t.Error(err)
			}
		}
	})
}
