package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A server that is open to a network logs one warning.
func TestExposureIsLogged(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		flags []string
		want  string // "" for no warning
	}{
		{"localhost", nil, ""},
		{"a unix socket", []string{"--http-address=off", "--grpc-address=unix://" + filepath.Join(t.TempDir(), "s")}, ""},
		{"all interfaces", []string{"--grpc-address=:0"}, "every client that can reach these addresses"},
		{"REST alone", []string{"--http-address=0.0.0.0:0"}, "every client that can reach these addresses"},
		{"tokens in plain text", []string{"--grpc-address=:0", "--auth-token-file=" + tokens}, "tokens are sent to these addresses"},
		{"tokens on localhost", []string{"--auth-token-file=" + tokens}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, tc.flags...)
			if err := r.stop(); err != nil {
				t.Error(err)
			}
			log := r.log.String()
			if got := strings.Count(log, "level=WARN"); tc.want == "" && got != 0 || tc.want != "" && (got != 1 || !strings.Contains(log, tc.want)) {
				t.Errorf("log:\n%s", log)
			}
		})
	}
	for target, want := range map[string]bool{"localhost:1": true, "127.0.0.2:1": true, "[::1]:1": true, ":1": false, "0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "x": false} {
		if loopback(target) != want {
			t.Errorf("%s: %v", target, !want)
		}
	}
}
