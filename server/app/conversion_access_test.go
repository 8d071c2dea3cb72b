package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConversionReviewsAreAuthorized checks who may send a ConversionReview, the audit lines of those that may not, and
// the metrics.
func TestConversionReviewsAreAuthorized(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	audit := filepath.Join(directory, "audit.log")
	r := start(t, "--access-file="+write("access.yaml", accessFile), "--audit-log="+audit,
		"--auth-token-file="+write("tokens", "token-evaluator,evaluator,1\ntoken-registrar,registrar,1\n"))
	rest := r.HTTPAddresses()[0]
	const review = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"example.com/v1","objects":[]}}`
	for _, c := range []struct {
		caller, catalog string
		code            int
		want            string // in the response
	}{
		{"evaluator", "default", http.StatusOK, `"status":"Success"`},
		{"evaluator", "other", http.StatusForbidden, `"message":"crdeval: \"evaluator\" may not call Convert in the catalog \"other\": the role evaluator or admin in this catalog is required"`},
		{"registrar", "default", http.StatusForbidden, `\"registrar\" may not call Convert in the catalog \"default\"`},
		{"stranger", "default", http.StatusUnauthorized, "the bearer token in the header authorization is unknown"},
	} {
		code, text := fetch(t, rest, http.MethodPost, "/webhooks/catalogs/"+c.catalog+"/convert", "application/json", review,
			"Authorization", "Bearer token-"+c.caller)
		if code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s in %s: HTTP %d %s", c.caller, c.catalog, code, text)
		}
	}
	_, metrics := fetch(t, rest, http.MethodGet, "/metrics", "", "")
	for code, n := range map[string]string{"OK": "1", "PERMISSION_DENIED": "2"} {
		found := false
		for line := range strings.Lines(metrics) {
			found = found || strings.HasPrefix(line, "rpc_server_call_duration_seconds_count{") && strings.Contains(line, `rpc_method="webhook/Convert"`) &&
				strings.Contains(line, `rpc_response_status_code="`+code+`"`) && strings.HasSuffix(line, " "+n+"\n")
		}
		if !found {
			t.Errorf("%s calls with %s are not measured:\n%s", n, code, metrics)
		}
	}
	if err := r.stop(); err != nil { // writes the audit log
		t.Fatal(err)
	}
	text, err := os.ReadFile(audit)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	want := [][]string{
		{`"user":"evaluator"`, `"action":"/webhook/Convert","catalog":"other","outcome":"PERMISSION_DENIED"`},
		{`"user":"registrar"`, `"action":"/webhook/Convert","catalog":"default","outcome":"PERMISSION_DENIED"`},
		{`"action":"POST /webhooks/catalogs/default/convert"`, `"outcome":"UNAUTHENTICATED"`},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), text)
	}
	for i, parts := range want {
		for _, part := range append(parts, `"event":"denied"`) {
			if !strings.Contains(lines[i], part) {
				t.Errorf("%s is not in the line: %s", part, lines[i])
			}
		}
	}
}
