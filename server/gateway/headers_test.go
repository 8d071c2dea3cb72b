package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestTimeouts: the time that a call has is what gRPC takes for one, and none at all is over at once, wherever calls come in.
func TestTimeouts(t *testing.T) {
	_, rest := serve(t, Options{})
	paths := []struct{ method, path, body string }{
		{http.MethodPost, "/v1/catalogs/default/crds", "{}"},
		{http.MethodGet, "/v1/catalogs/default", ""},
		{http.MethodPost, "/v1/catalogs/default:admitStream", ""},
		{http.MethodPost, "/webhooks/catalogs/default/validate", "{}"},
	}
	for _, c := range []struct {
		given string
		code  int
		text  string
	}{
		{"zz", http.StatusBadRequest, "at most eight digits and a unit"},
		{"-1S", http.StatusBadRequest, "such as 500m"},
		{"1", http.StatusBadRequest, "Grpc-Timeout"},
		{"S", http.StatusBadRequest, "Grpc-Timeout"},
		{"1s", http.StatusBadRequest, "Grpc-Timeout"},
		{"999999999H", http.StatusBadRequest, "at most eight digits"},
		{"0m", http.StatusGatewayTimeout, "DEADLINE"},
		{"00000000n", http.StatusGatewayTimeout, "passed before it began"},
	} {
		for _, p := range paths {
			code, text, _ := send(t, p.method, rest.URL+p.path, strings.NewReader(p.body), http.Header{"Grpc-Timeout": {c.given}})
			if code != c.code || !strings.Contains(text, c.text) {
				t.Errorf("%s of %s: HTTP %d %s, want %d and %q", p.path, c.given, code, text, c.code, c.text)
			}
		}
	}
	for _, given := range []string{"1M", "99999999H", "99999999m"} {
		if code, text, _ := send(t, http.MethodGet, rest.URL+"/v1/catalogs/default", nil, http.Header{"Grpc-Timeout": {given}}); code != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", given, code, text)
		}
	}
}
