package app

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheLogNamesClients: a call over REST has the address of who made the request, not that of the gateway.
func TestTheLogNamesClients(t *testing.T) {
	r := start(t, "--log-level=debug")
	rest := r.HTTPAddresses()[0]
	if code, body := fetch(t, rest, http.MethodGet, "/v1/serverInfo", "", ""); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	if code, body := fetch(t, rest, http.MethodPost, "//v1/catalogs", "application/json", "{}"); code != http.StatusNotFound || body[0] != '{' {
		t.Errorf("%d %s", code, body)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`GetServerInfo.* peer=127\.0\.0\.1:\d+ request_id=\w+`).MatchString(r.log.String()) {
		t.Errorf("the log:\n%s", r.log)
	}
}

// TestTheLogWarnsOfAnEmptiedRegistry: a file without bytes may have been a registry.
func TestTheLogWarnsOfAnEmptiedRegistry(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "registry.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, warned := range []bool{true, false} {
		r := start(t, "--store=bolt", "--data-dir="+dir)
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(r.log.String(), "the file of the registry is empty"); got != warned {
			t.Errorf("warned: %t\n%s", got, r.log)
		}
	}
}
