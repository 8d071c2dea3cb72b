package tree

import (
	"regexp"
	"testing"
)

// TestIsFloat compares isFloat with its expression for all short texts of its characters.
func TestIsFloat(t *testing.T) {
	want := regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	var check func(text []byte)
	check = func(text []byte) {
		if got := isFloat(text); got != want.Match(text) {
			t.Fatalf("%q: %v", text, got)
		}
		if len(text) < 6 {
			for _, c := range []byte("-+.09eEx") {
				check(append(text[:len(text):len(text)], c))
			}
		}
	}
	check(nil)
}
