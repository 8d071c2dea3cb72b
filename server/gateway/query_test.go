package gateway

import (
	"net/http"
	"strings"
	"testing"
)

// TestQueryErrors: what is wrong with a query parameter is said in the caller's words.
func TestQueryErrors(t *testing.T) {
	_, rest := serve(t, Options{})
	for query, want := range map[string]string{
		"crds?view=full":                   `the query parameter \"view\" is \"full\": one of CRD_VIEW_UNSPECIFIED, CRD_VIEW_BASIC, CRD_VIEW_FULL is expected`,
		"crds?pageSize=x":                  `the query parameter \"pageSize\" is \"x\": an integer within 32 bits is expected`,
		"crds?page_size=9999999999":        `the query parameter \"page_size\" is \"9999999999\": an integer within 32 bits is expected`,
		"crds?view=CRD_VIEW_FULL&pageSize": `the query parameter \"pageSize\" is \"\": an integer within 32 bits is expected`,
		"crds?depth=1":                     `unknown query parameter \"depth\": this call takes pageSize, pageToken, view, atLeast`,
		"crds?view=1&view=2":               `the query parameter \"view\" is given 2 times`,
	} {
		code, text, _ := send(t, http.MethodGet, rest.URL+"/v1/catalogs/default/"+query, nil, nil)
		if code != http.StatusBadRequest || !strings.Contains(text, want) || !strings.Contains(text, "INVALID_ARGUMENT") {
			t.Errorf("%s: HTTP %d %s", query, code, text)
		}
	}
	code, text, _ := send(t, http.MethodDelete, rest.URL+"/v1/catalogs/default?force=perhaps", nil, nil)
	if code != http.StatusBadRequest || !strings.Contains(text, `the query parameter \"force\" is \"perhaps\": true or false is expected`) {
		t.Errorf("HTTP %d %s", code, text)
	}
}
