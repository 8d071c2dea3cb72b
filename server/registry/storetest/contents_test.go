package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/server/registry"
)

var contents = []test{
	{"empty", empty},
	{"put, replace, delete", putReplaceDelete},
	{"delete by prefix", deletePrefix},
	{"expectations", expectations},
	{"all or nothing", allOrNothing},
	{"nothing changes", nothingChanges},
	{"large and odd entries", largeAndOdd},
	{"the caller's bytes", callersBytes},
	{"conversion rules", conversionRules},
}

func empty(t *testing.T, f fixture) {
	if f.Store.ID() == "" {
		t.Error("no ID")
	}
	state := load(t, f.Store)
	if len(state.Entries) != 0 {
		t.Errorf("entries: %v", describe(state.Entries))
	}
	if one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}}); one <= state.Sequence {
		t.Errorf("the first commit has sequence %d, the empty store had %d", one, state.Sequence)
	}
}

func putReplaceDelete(t *testing.T, f fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("b", "1"), put("a/x", "2")}})
	expect(t, f.Store, one, fmt.Sprintf("a/x=2@%d", one), fmt.Sprintf("b=1@%d", one))
	two := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("b", "3"), put("c", "")}})
	if two <= one {
		t.Errorf("sequence %d after %d", two, one)
	}
	expect(t, f.Store, two, fmt.Sprintf("a/x=2@%d", one), fmt.Sprintf("b=3@%d", two), fmt.Sprintf("c=@%d", two))
	three := commit(t, f.Store, registry.Transaction{Delete: []string{"a/x", "c", "never there"}})
	expect(t, f.Store, three, fmt.Sprintf("b=3@%d", two))
}

func deletePrefix(t *testing.T, f fixture) {
	var tx registry.Transaction
	for _, key := range []string{"a", "a/", "a/b", "a/b/c", "a0", "a.", "b/\xff", "b/\xff\xff", "c"} {
		tx.Put = append(tx.Put, put(key, "1"))
	}
	one := commit(t, f.Store, tx)
	// Put and deleted by prefix in one commit; an expectation about a key that goes; prefixes that overlap, that
	// nothing has, that end in the last byte there is.
	two := commit(t, f.Store, registry.Transaction{
		Expect:       []registry.Expectation{{Key: "a/b", Version: one}},
		Put:          []registry.Entry{put("a1", "2")},
		Delete:       []string{"a/b", "c"},
		DeletePrefix: []string{"a/", "a/b", "nothing/", "b/\xff"},
	})
	left := []string{fmt.Sprintf("a=1@%d", one), fmt.Sprintf("a.=1@%d", one), fmt.Sprintf("a0=1@%d", one), fmt.Sprintf("a1=2@%d", two)}
	expect(t, f.Store, two, left...)
	// Not if an expectation fails.
	_, err := f.Store.Commit(t.Context(), registry.Transaction{Expect: []registry.Expectation{{Key: "a/b", Version: one}}, DeletePrefix: []string{"a"}})
	if !errors.Is(err, registry.ErrConflict) {
		t.Errorf("got %v", err)
	}
	expect(t, f.Store, two, left...)
	// Many, over many pages of a file.
	for i := range 20 {
		tx = registry.Transaction{}
		for j := range 50 {
			tx.Put = append(tx.Put, registry.Entry{Key: fmt.Sprintf("many/%02d/%02d", i, j), Value: bytes.Repeat([]byte{'x'}, 500)})
		}
		commit(t, f.Store, tx)
	}
	if n := len(load(t, f.Store).Entries); n != 1000+len(left) {
		t.Errorf("%d entries", n)
	}
	three := commit(t, f.Store, registry.Transaction{DeletePrefix: []string{"many/"}})
	expect(t, f.Store, three, left...)
}

func expectations(t *testing.T, f fixture) {
	one := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a"}}, Put: []registry.Entry{put("a", "1")}})
	for _, wrong := range []registry.Expectation{{Key: "a"}, {Key: "a", Version: one + 1}, {Key: "b", Version: one}} {
		_, err := f.Store.Commit(t.Context(), registry.Transaction{Expect: []registry.Expectation{{Key: "b"}, wrong}, Put: []registry.Entry{put("b", "1")}})
		if !errors.Is(err, registry.ErrConflict) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	// A key may be expected and put; an entry that was deleted is not there.
	two := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a", Version: one}}, Delete: []string{"a"}})
	three := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a"}}, Put: []registry.Entry{put("a", "2")}})
	if three <= two {
		t.Errorf("sequence %d after %d", three, two)
	}
	expect(t, f.Store, three, fmt.Sprintf("a=2@%d", three))
}

func allOrNothing(t *testing.T, f fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}})
	_, err := f.Store.Commit(t.Context(), registry.Transaction{
		Expect: []registry.Expectation{{Key: "a"}},
		Put:    []registry.Entry{put("b", "2")},
		Delete: []string{"a"},
	})
	if !errors.Is(err, registry.ErrConflict) {
		t.Errorf("got %v", err)
	}
	expect(t, f.Store, one, fmt.Sprintf("a=1@%d", one))
}

// A commit that changes nothing is one all the same: its sequence is one that every handle on the store comes to.
func nothingChanges(t *testing.T, f fixture) {
	one := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{put("a", "1")}})
	two := commit(t, f.Store, registry.Transaction{})
	three := commit(t, f.Store, registry.Transaction{Expect: []registry.Expectation{{Key: "a", Version: one}}, Delete: []string{"b"}, DeletePrefix: []string{"c/"}})
	if two <= one || three <= two {
		t.Errorf("sequences %d, %d, %d", one, two, three)
	}
	expect(t, f.Store, three, fmt.Sprintf("a=1@%d", one))
}

func largeAndOdd(t *testing.T, f fixture) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 4<<16) // 4 MiB
	odd := []byte{0, 0xff, '\n', 0}
	commit(t, f.Store, registry.Transaction{Put: []registry.Entry{{Key: "large", Value: large}, {Key: "odd/é/\x01", Value: odd}}})
	tx := registry.Transaction{}
	for i := range 64 { // as many operations as the registry ever needs, each with an expectation
		tx.Put = append(tx.Put, put(fmt.Sprintf("many/%03d", i), "v"))
		tx.Expect = append(tx.Expect, registry.Expectation{Key: tx.Put[i].Key})
	}
	commit(t, f.Store, tx)
	state := load(t, f.Store)
	if len(state.Entries) != 66 {
		t.Fatalf("%d entries", len(state.Entries))
	}
	if !bytes.Equal(state.Entries[0].Value, large) || !bytes.Equal(state.Entries[65].Value, odd) {
		t.Error("the values came back changed")
	}
}

func callersBytes(t *testing.T, f fixture) {
	value := []byte("before")
	sequence := commit(t, f.Store, registry.Transaction{Put: []registry.Entry{{Key: "k", Value: value}}})
	copy(value, "after!")
	expect(t, f.Store, sequence, fmt.Sprintf("k=before@%d", sequence))
}
