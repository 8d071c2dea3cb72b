package crdevaltest_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentation checks that the example of the documentation is the code that is tested here.
func TestDocumentation(t *testing.T) {
	page, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("crontab_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(page), "```go\n")
	block, _, closed := strings.Cut(block, "```\n")
	if !found || !closed {
		t.Fatal("docs/testing.md has no Go code")
	}
	for part := range strings.SplitSeq(block, "\n\n") {
		if !strings.Contains(string(code), strings.TrimSpace(part)) {
			t.Errorf("crontab_test.go does not have\n%s", part)
		}
	}
}
