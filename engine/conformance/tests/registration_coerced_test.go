package tests

import (
	"strings"
	"testing"
)

// TestCoercedDefaultsAreShown: the check of defaults coerces metadata in them, and field errors about the root print
// the result.
func TestCoercedDefaultsAreShown(t *testing.T) {
	const metadata = `{"apiVersion":"v1","kind":"A","metadata":{"name":"x","nope":1}}`
	const embedded = `{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true,"default":` + metadata + `}`
	for name, schema := range map[string]string{
		"below the root":          `{"type":"object","minProperties":1,"properties":{"spec":` + embedded + `}}`,
		"with nullable":           `{"type":"object","nullable":true,"properties":{"spec":` + embedded + `}}`,
		"at the root":             `{"type":"object","default":` + metadata + `}`,
		"at an embedded root":     embedded,
		"not structural":          `{"type":"object","minProperties":1,"properties":{"a":{},"spec":` + embedded + `}}`,
		"unsupported":             `{"type":"object","minProperties":1,"$ref":"x","properties":{"spec":` + embedded + `}}`,
		"and other field errors":  `{"type":"object","minProperties":1,"uniqueItems":true,"properties":{"spec":` + embedded + `,"b":{"type":"string","default":1}}}`,
		"and a rule that breaks":  `{"type":"object","minProperties":1,"properties":{"spec":` + embedded + `},"x-kubernetes-validations":[{"rule":"self.nope"}]}`,
		"and a default in a list": `{"type":"object","minProperties":1,"properties":{"l":{"type":"array","items":` + embedded + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			doc := strings.Replace(string(manifest(t, schema)), `"storage":true`, `"storage":true,"subresources":{"status":{}}`, 1)
			d, theirs := differences(t, []byte(doc))
			if len(d) > 0 {
				t.Errorf("%s", strings.Join(d, "\n"))
			}
			if len(theirs.Errors) == 0 {
				t.Error("upstream finds nothing")
			}
		})
	}
}
