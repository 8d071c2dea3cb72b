package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/value"
)

// large returns parts of kib KiB each and counts how often each is built.
func large(t *testing.T, form Form, count, kib int, made []int) Parts {
	t.Helper()
	return Parts{Count: count, Make: func(i int) (*Part, error) {
		made[i]++
		name := fmt.Sprintf("K%03d", i)
		schema := &Props{Type: "object", Description: strings.Repeat("x", kib<<10)}
		return Build(&Resource{Group: "b.a", Version: "v1", Kind: name, ListKind: name + "List", Plural: strings.ToLower(name), Schema: schema}, form)
	}}
}

// TestLargeDocuments checks that large documents build parts twice and equal a document of existing parts.
func TestLargeDocuments(t *testing.T) {
	const count, kib = 24, 1 << 10
	for form, write := range map[Form]func(Parts, Room) ([]byte, error){V2Form: V2, V3Form: V3} {
		made := make([]int, count)
		asked := int64(0)
		got, err := write(large(t, form, count, kib, made), Room{MaxBytes: 64 << 20, Take: func(n int64) error {
			asked += n
			return nil
		}})
		if err != nil || !json.Valid(got) || len(got) < count*kib<<10 {
			t.Fatalf("form %d: %v, %d bytes", form, err, len(got))
		}
		if asked < int64(len(got)) || asked > int64(len(got))+around {
			t.Errorf("form %d: asked for %d bytes for %d", form, asked, len(got))
		}
		if made[0] != 1 || made[count-1] != 2 {
			t.Errorf("form %d: made %v times", form, made)
		}
		var parts []*Part
		for i := range count {
			p, err := large(t, form, count, kib, made).Make(i)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, p)
		}
		if want, err := write(PartsOf(parts...), Room{MaxBytes: 64 << 20}); err != nil || !bytes.Equal(got, want) {
			t.Errorf("form %d: another document: %v", form, err)
		}
	}
}

// TestTooLargeEarly checks that a document over its limits is rejected before its memory is allocated.
func TestTooLargeEarly(t *testing.T) {
	const count, kib = 24, 1 << 10
	made := make([]int, count)
	var limit *value.LimitError
	if _, err := V2(large(t, V2Form, count, kib, made), Room{MaxBytes: 5 << 20}); !errors.As(err, &limit) || limit.Actual < 5<<20 || limit.Actual > 7<<20 {
		t.Errorf("%v", err)
	}
	if made[4] != 1 || made[6] != 0 {
		t.Errorf("made %v", made)
	}
	full := errors.New("full")
	if _, err := V2(large(t, V2Form, count, kib, made), Room{MaxBytes: 64 << 20, Take: func(int64) error { return full }}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	if made[count-1] != 1 {
		t.Errorf("made %v", made)
	}
}

// TestChangedParts checks that parts that differ on the second call give ErrChanged.
func TestChangedParts(t *testing.T) {
	const count, kib = 24, 1 << 10
	for name, change := range map[string]func(*Part){
		"longer":     func(p *Part) { p.definitions[0].text = append([]byte(`{"a":1,`), p.definitions[0].text[1:]...) },
		"fewer":      func(p *Part) { p.definitions = p.definitions[:1] },
		"more":       func(p *Part) { p.paths = append(p.paths, entry{name: "/x", text: []byte("{}")}) },
		"other name": func(p *Part) { p.definitions[1].name += "s" },
	} {
		made := make([]int, count)
		parts := large(t, V3Form, count, kib, made)
		first := parts.Make
		parts.Make = func(i int) (*Part, error) {
			p, err := first(i)
			if made[i] == 2 && i == count-1 {
				change(p)
			}
			return p, err
		}
		if got, err := V3(parts, Room{MaxBytes: 64 << 20}); !errors.Is(err, ErrChanged) || got != nil {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
}
