package storetest

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// boltDamages are damages of a bolt file. Each gives an error that names the file.
func boltDamages(path string) []damage {
	page := os.Getpagesize()
	var all []damage
	for _, d := range []struct {
		name  string
		spoil func([]byte) []byte
	}{
		{"not bbolt", func([]byte) []byte { return []byte(strings.Repeat("this is no database\n", 1000)) }},
		{"one byte", func([]byte) []byte { return []byte{1} }},
		{"cut off", func(b []byte) []byte { return b[:len(b)/2] }},
		{"cut off at the first page", func(b []byte) []byte { return b[:page] }},
		{"cut off at the meta pages", func(b []byte) []byte { return b[:2*page] }},
		{"both meta pages zeroed", func(b []byte) []byte { clear(b[:2*page]); return b }},
		{"a flipped bit in a value", func(b []byte) []byte { b[bytes.LastIndex(b, []byte("bbbb"))] ^= 1; return b }},
		{"everything but the meta pages zeroed", func(b []byte) []byte { clear(b[2*page:]); return b }},
		{"everything but the meta pages ones", func(b []byte) []byte {
			for i := range b[2*page:] {
				b[2*page+i] = 0xff
			}
			return b
		}},
	} {
		all = append(all, damage{Name: d.name, Says: path + ": ", Do: func(t *testing.T) {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, d.spoil(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}})
	}
	return all
}
