package standalone

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTokenFile changes a file of tokens.
func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.csv")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one,bob,1\n")
	file, err := NewTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	for _, step := range []struct{ text, valid, invalid, log string }{
		{"two,bob,1\n", "two", "one", "reloaded tokens"},
		{"three\n", "two", "three", "previously loaded version stays in use"},
		{"three,bob,1\n", "three", "two", "reloaded tokens"},
	} {
		write(step.text)
		logged.Reset()
		file.Poll(t.Context(), log)
		if r, ok, err := file.AuthenticateToken(t.Context(), step.valid); !ok || err != nil || r.User.GetName() != "bob" {
			t.Errorf("%q: token %s: %v, %v, %v", step.text, step.valid, r, ok, err)
		}
		if _, ok, _ := file.AuthenticateToken(t.Context(), step.invalid); ok {
			t.Errorf("%q: token %s is valid", step.text, step.invalid)
		}
		if !strings.Contains(logged.String(), step.log) {
			t.Errorf("%q: %s", step.text, &logged)
		}
	}
	if _, err := NewTokenFile(path + ".missing"); err == nil {
		t.Error("no error for a missing file")
	}
}
