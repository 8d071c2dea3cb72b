package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestFaultsOfYAMLBodies: a YAML body that is not the JSON of its request is rejected as a whole, with the position.
func TestFaultsOfYAMLBodies(t *testing.T) {
	w := start(t, nil).withCronTab()
	for body, want := range map[string]string{
		"items:\n- crd: a\n  crd: b\n  create: {object: {}}\n":            `the body, line 3, column 3: items[0]: the field \"crd\" is given twice`,
		"items: []\nitems: []\n":                                          `the body, line 2, column 1: the field \"items\" is given twice`,
		"items: []\nnull: 1\n":                                            "the body, line 2, column 1: invalid YAML: a key is null: keys are strings, so quote it",
		"items:\n- create: {object: {a: 1\n":                              "the body, line 2, column 1: invalid YAML: did not find expected",
		"items: [{create: {object: {a: 1}}}]\ncontext: {options: 5}\n":    "the body, line 2, column 20: context.options: an object is expected",
		"items:\n- create: {object: {a: 1, a: 2}}\n- crd: x\n  crd: y\n":  `the body, line 4, column 3: items[1]: the field \"crd\" is given twice`,
		"items:\n- create: {object: {a: 1}}\n- nonsense: true\n":          `the body, line 3, column 3: items[1]: unknown field \"nonsense\"`,
		"items: []\n---\nitems: []\n":                                     "the body, line 2, column 1: a second document begins here",
		"items: []\n...\nmore: 1\n":                                       "the body, line 3, column 1: a second document begins here",
		"- &a {crd: x}\n":                                                 "the body, line 1, column 1: an object is expected",
		"items:\n- {create: {object: {}}, crd: [x]}\n":                    "the body, line 2, column 31: items[0].crd: a string is expected",
		"items: [{}]\ncontext: {options: {fieldValidation: STRICT}}\n":    "the body, line 2, column 38: context.options.fieldValidation: one of",
		"items:\n- &a {crd: x}\n- {<<: *a, more: y}\n":                    `items[1]: unknown field \"more\"`,
		"items:\n- update: {object: {a: 1}, subresource: status, a: b}\n": `the body, line 2, column 49: items[0].update: unknown field \"a\"`,
	} {
		a := w.do("POST", "/v1/catalogs/default:validate", body, "Content-Type", "application/yaml")
		if a.code != http.StatusBadRequest || !strings.Contains(a.text, want) || strings.Contains(a.text, "%!") || !strings.Contains(a.text, `"violations":[{"type":`) {
			t.Errorf("%q: %d %s", body, a.code, a.text)
		}
	}
	// A fault of a document is one of its item.
	for body, code := range map[string]int{
		"items:\n- create: {object: &a {x: 1, x: 2}}\n- create: {object: *a}\n":              http.StatusOK,
		"items: [{create: {object: {a: 1, a: 2}}}]\n":                                        http.StatusOK,
		"\ufeffitems:\n- create: {object: {a: 1, a: 2}}\n":                                   http.StatusOK,
		"items:\n- patch: {type: PATCH_TYPE_MERGE, patch: 1, oldObject: {a: 1, a: 2}}\r\r\n": http.StatusOK,
	} {
		if a := w.do("POST", "/v1/catalogs/default:validate", body, "Content-Type", "application/yaml"); a.code != code {
			t.Errorf("%q: %d %s", body, a.code, a.text)
		}
	}
}
