package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestFaultsOfYAMLBodies: a YAML body that is not the JSON of its request is rejected as a whole, with the line.
func TestFaultsOfYAMLBodies(t *testing.T) {
	w := start(t, nil).withCronTab()
	for body, want := range map[string]string{
		"items:\n- crd: a\n  crd: b\n  object: {}\n":                                        `the body has duplicate keys: line 3: key \"crd\" already set in map`,
		"items: []\nitems: []\n":                                                            `the body has duplicate keys: line 2: key \"items\" already set in map`,
		"items:\n- object: &a {x: 1, x: 2}\n- object: *a\n":                                 `the body has duplicate keys: line 2: key \"x\" already set in map`,
		"items: []\nnull: 1\n":                                                              "a key is null",
		"items:\n- object: {a: 1\n":                                                         "line",
		"items: [{object: {a: 1}}]\noptions: 5\n":                                           "options",
		"items: [{object: {a: 1, a: 2}}]\n":                                                 `line 1: key \"a\" already set in map`,
		"items:\n- object: {a: 1, a: 2}\n- crd: x\n  crd: y\n":                              `line 4: key \"crd\" already set in map`,
		"items:\n- object: {a: 1}\n- nonsense: true\n":                                      "nonsense",
		"\ufeffitems:\n- object: {a: 1, a: 2}\n":                                            "has duplicate keys",
		"items:\n- object: {a: 1, a: 2}\n  patch: {type: PATCH_TYPE_MERGE, patch: 1}\r\r\n": "line",
	} {
		a := w.do("POST", "/v1/catalogs/default:validate", body, "Content-Type", "application/yaml")
		if a.code != http.StatusBadRequest || !strings.Contains(a.text, want) || strings.Contains(a.text, "%!") {
			t.Errorf("%q: %d %s", body, a.code, a.text)
		}
	}
}
