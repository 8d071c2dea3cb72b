package tree

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// TestStringsAreEscaped: each byte at each position of a word of eight, in both forms of encoding/json.
func TestStringsAreEscaped(t *testing.T) {
	for b := range 256 {
		for at := range 17 {
			s := strings.Repeat("a", at) + string([]byte{byte(b)}) + "<&é" + strings.Repeat("\x7f~!#", 3)
			var plain bytes.Buffer
			e := json.NewEncoder(&plain)
			e.SetEscapeHTML(false)
			canonical, err := json.Marshal(s)
			if err != nil || e.Encode(s) != nil {
				t.Fatal(err)
			}
			if got := AppendCanonicalString(nil, s); string(got) != string(canonical) {
				t.Errorf("canonical %s, want %s", got, canonical)
			}
			if got := AppendString(nil, s); string(got)+"\n" != plain.String() {
				t.Errorf("%s, want %s", got, &plain)
			}
		}
	}
}
