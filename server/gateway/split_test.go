package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/call"
)

// split reads all pieces of a body.
func splitAll(s *splitter) (all []piece, err error) {
	for {
		p, err := s.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
}

// unlimited is memory without a bound.
func unlimited() bodyMemory { return bodyMemory{NewBodies(nil), context.Background()} }

func TestLines(t *testing.T) {
	for _, c := range []struct {
		body string
		want []piece
	}{
		{"", nil},
		{"\n \r\n", nil},
		{"{}", []piece{{[]byte("{}"), 1, 0}}},
		{"{}\r\n\n[1]\n", []piece{{[]byte("{}\r\n"), 1, 0}, {[]byte("[1]\n"), 3, 5}}},
		{strings.Repeat("x", 200_000) + "\ny", []piece{{[]byte(strings.Repeat("x", 200_000) + "\n"), 1, 0}, {[]byte("y"), 2, 200_001}}},
	} {
		for name, body := range map[string]io.Reader{"at once": strings.NewReader(c.body), "in bytes": iotest.OneByteReader(strings.NewReader(c.body))} {
			got, err := splitAll(newSplitter(body, 1<<20, unlimited(), false))
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%.20q %s: %.300v, %v", c.body, name, got, err)
			}
		}
	}
	_, err := splitAll(newSplitter(strings.NewReader("{}\n"+strings.Repeat("x", 200)), 100, unlimited(), false))
	if err == nil || !strings.Contains(err.Error(), "line 2: the line or document has more bytes than the limit max_message_bytes, which is 100") {
		t.Error(err)
	}
	short := call.With(t.Context(), &call.Call{Lease: call.NewMemory(500).Open("a")}) // 250 for one caller
	_, err = splitAll(newSplitter(strings.NewReader(strings.Repeat("{}\n", 100)), 100, bodyMemory{NewBodies(nil), short}, false))
	if reasonOf(statusOf(err)) != "LIMIT_EXCEEDED" || !strings.Contains(err.Error(), "memory") {
		t.Error(err)
	}
	_, err = splitAll(newSplitter(iotest.ErrReader(io.ErrUnexpectedEOF), 100, unlimited(), false))
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// documentTexts are streams of YAML, to be cut so that package workspace reads the pieces as it reads the whole.
var documentTexts = []string{
	"", "\n", "\t", "# nothing\n", "a: 1", "a: 1\n---\nb: 2\n", "---\na: 1\n---\n---\nb: 2\n...\n", "--- {a: 1}\n--- # c\nb: 2\n", "...\na: 1\n... # x\n---\n",
	"%YAML 1.2\n---\na: 1\n", "a: 1\n---\n%YAML 1.2\n---\n---\n%a\n---\nb: 1\n", "a: |\n  ---\n--- x\n", "\ufeffa: 1\n---\nb: 2", "a: 1\r\n---\r\nb: 2\r\n", "----\n---x\n--\n", "# c\n---\n# d\n---\na",
	"a\n---\tb\n", "x\n...", "a: 1\n...\nb: 2\n---\nc: 3\n", "null\n---\n~\n---\na: 1\n", "kind: List\nitems:\n- a: 1\n- b: 2\n---\nc: 1\n",
}

func checkDocuments(t *testing.T, body []byte) {
	t.Helper()
	show := func(list []*workspace.Manifest) (all []string) {
		for _, m := range list {
			at := m.Start()
			all = append(all, fmt.Sprintf("%d:%d %.100q %v", at.Line, at.Column, m.JSON(), m.Err))
			for _, w := range m.Warnings {
				all = append(all, fmt.Sprintf("%v %s", *w.Position, w.Text))
			}
		}
		return all
	}
	want := show(workspace.Read(body))
	for name, from := range map[string]io.Reader{"at once": bytes.NewReader(body), "in bytes": iotest.OneByteReader(bytes.NewReader(body))} {
		all, err := splitAll(newSplitter(from, 1<<20, unlimited(), true))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range all {
			got = append(got, show(workspace.ReadText(pieceText(p)))...)
			if !bytes.HasPrefix(body[p.offset:], p.text) {
				t.Errorf("%q %s: %q is not at %d", body, name, p.text, p.offset)
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q %s\nis   %q\nwant %q", body, name, got, want)
		}
	}
}

func TestDocuments(t *testing.T) {
	for _, body := range documentTexts {
		checkDocuments(t, []byte(body))
	}
	for i := range 20 { // across the edges of what is read at a time
		pad := strings.Repeat("x", 64<<10-10+i)
		checkDocuments(t, fmt.Appendf(nil, "a: %s\n---\nb: %s\n...\nc: 1\n", pad, pad))
	}
	for name, body := range map[string]string{"a line": strings.Repeat("x", 200), "lines": strings.Repeat("x\n", 100), "comments": strings.Repeat("#\n", 100)} {
		_, err := splitAll(newSplitter(strings.NewReader("a\n---\n"+body), 100, unlimited(), true))
		if err == nil || !strings.Contains(err.Error(), ": the line or document has more bytes than the limit") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDocuments: a stream of YAML is read as it comes like a file.
func FuzzDocuments(f *testing.F) {
	for _, body := range documentTexts {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.HasPrefix(body, []byte{0xff, 0xfe}) || bytes.HasPrefix(body, []byte{0xfe, 0xff}) || bytes.ContainsAny(body, "{\u0085\u2028\u2029") ||
			bytes.Count(body, []byte("\r")) != bytes.Count(body, []byte("\r\n")) {
			return // UTF-16, and JSON, which is read before YAML
		}
		checkDocuments(t, body)
	})
}

// FuzzLines: lines put together are the body, and what is made of one is an item, an error of its own, or the end.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{\"update\":{\"object\":{\"a\":1},\"oldObject\":{}}}\n\n{\"crd\":\"x\"}"), false)
	f.Add([]byte("{\"a\":[1,{\"b\":\"\\\"}\"}]}\r\n{"), true)
	f.Add([]byte("apiVersion: v1\n"), true)
	f.Fuzz(func(t *testing.T, body []byte, bare bool) {
		all, err := splitAll(newSplitter(iotest.HalfReader(bytes.NewReader(body)), 1<<20, unlimited(), false))
		if err != nil {
			t.Fatal(err)
		}
		end := 0
		for _, p := range all {
			if between := body[end:p.offset]; len(bytes.Trim(between, " \t\r\n")) > 0 || !bytes.HasPrefix(body[p.offset:], p.text) {
				t.Fatalf("%q at %d", p.text, p.offset)
			}
			if line := 1 + bytes.Count(body[:p.offset], []byte{'\n'}); line != p.line {
				t.Fatalf("%q on line %d, not %d", p.text, line, p.line)
			}
			end = int(p.offset) + len(p.text)
			s := &streamReader{bare: bare, newItem: creation, origins: &streamOrigins{}}
			r, err := s.item(p)
			if err != nil || r.failed != nil && !bare {
				continue
			}
			for _, d := range r.documents() {
				object := d.GetJson()
				o := s.origins.of(d).origin
				if o == nil && len(object) > 0 || o != nil && !bytes.HasPrefix(body[o.Text().Position(o.Begin()).Offset:], object) {
					t.Fatalf("%q has the origin %v", object, o)
				}
			}
		}
		if len(bytes.Trim(body[end:], " \t\r\n")) > 0 {
			t.Fatalf("%q is left", body[end:])
		}
	})
}
