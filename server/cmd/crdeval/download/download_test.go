package download

import "testing"

// TestURLWithoutSecrets checks that printed URLs have no secrets.
func TestURLWithoutSecrets(t *testing.T) {
	for name, want := range map[string]string{
		"https://user:secret@host:1/a?token=b#sha256=c": "https://host:1/a#sha256=c", "https://host/a": "https://host/a",
		"https://user:secret@%zz": "https://…", "a?b": "a?b",
	} {
		if got := WithoutSecrets(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
