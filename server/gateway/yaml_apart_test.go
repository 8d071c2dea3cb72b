package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestManyObjectsApartOnOneLine: objects that have keys twice are found in a time that grows with the length of the line on which they all stand, not with its square.
func TestManyObjectsApartOnOneLine(t *testing.T) {
	const n, most = 8_000, 30 * time.Second // two seconds on an idle machine; it was a minute
	b := &body{
		data: []byte("items: [" + strings.Repeat("{object: {a: 1, a: 2}},", n) + "{}]\n"), yaml: true, limits: value.Limits{MaxBytes: 64 << 20}, lists: map[string]ListLimit{},
	}
	begin := time.Now()
	if _, apart, err := b.setApart(); err != nil || len(apart) != n || string(apart[n-1].text) != "{a: 1, a: 2}" {
		t.Errorf("%v, %d objects are set apart", err, len(apart))
	}
	if took := time.Since(begin); took > most {
		t.Errorf("it took %s, more than %s", took, most)
	}
}

// TestTooManyObjectsApart: more items than there may be are refused before any of them is looked at.
func TestTooManyObjectsApart(t *testing.T) {
	b := &body{
		data: []byte("items: [" + strings.Repeat("{object: {a: 1, a: 2}},", 1000) + "{}]\n"), yaml: true, limits: value.Limits{MaxBytes: 64 << 20}, lists: DefaultLists(),
	}
	if list := new(listError); !errors.As(b.decode(&crdevalv1.ValidateRequest{}), &list) {
		t.Errorf("%v, want that there are too many items", list)
	}
	if _, apart, err := b.setApart(); apart != nil || err == nil {
		t.Errorf("%d objects are set apart, %v", len(apart), err)
	}
}

// TestOffsetsOfPositions: positions may come in any order.
func TestOffsetsOfPositions(t *testing.T) {
	const text = "aé𝄞z\n\nb\r\nend"
	lines := newLineTable([]byte(text))
	for _, c := range []struct {
		line, column int
		rest         string
	}{
		{1, 1, text}, {1, 4, "z\n\nb\r\nend"}, {1, 2, "é𝄞z\n\nb\r\nend"}, {1, 3, "𝄞z\n\nb\r\nend"}, {4, 2, "nd"}, {2, 1, "\nb\r\nend"}, {3, 1, "b\r\nend"},
		{1, 1, text}, {4, 4, ""}, {5, 1, ""}, {0, 1, ""},
	} {
		if got := text[lines.offset(position{c.line, c.column}):]; got != c.rest {
			t.Errorf("%d:%d is at %q, want %q", c.line, c.column, got, c.rest)
		}
	}
}
