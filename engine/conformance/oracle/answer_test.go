package oracle

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestCompare(t *testing.T) {
	finding := func(detail string, bad any) Finding { return FindingOf(field.Invalid(field.NewPath("a"), bad, detail)) }
	for _, c := range []struct {
		name           string
		upstream, ours Answer
		same           bool
	}{
		{"nothing", Answer{}, Answer{}, true},
		{"order of findings", Answer{Errors: []Finding{finding("x", 1), finding("y", 2)}}, Answer{Errors: []Finding{finding("y", 2), finding("x", 1)}}, true},
		{"number of findings", Answer{Errors: []Finding{finding("x", 1), finding("x", 1)}}, Answer{Errors: []Finding{finding("x", 1)}}, false},
		{"bad value", Answer{Errors: []Finding{finding("x", 1)}}, Answer{Errors: []Finding{finding("x", 1.5)}}, false},
		{"omitted value", Answer{Errors: []Finding{finding("x", nil)}}, Answer{Errors: []Finding{finding("x", field.OmitValueType{})}}, false},
		{"key order", Answer{Object: json.RawMessage(`{"a":1,"b":[2]}`)}, Answer{Object: json.RawMessage(`{"b":[2],"a":1}`)}, true},
		{"literal", Answer{Object: json.RawMessage(`{"a":1}`)}, Answer{Object: json.RawMessage(`{"a":1.0}`)}, false},
		{"digits", Answer{Object: json.RawMessage(`9007199254740993`)}, Answer{Object: json.RawMessage(`9007199254740992`)}, false},
		{"absent object", Answer{Object: json.RawMessage(`{}`)}, Answer{}, false},
		{"order of warnings", Answer{Warnings: []string{"a", "b"}}, Answer{Warnings: []string{"b", "a"}}, false},
		{"refusal", Answer{Refusal: &Refusal{Code: 400, Message: "a"}}, Answer{Refusal: &Refusal{Code: 400, Message: "b"}}, false},
		{"refusal in own words", Answer{Refusal: &Refusal{Code: 400, Message: "a"}}, Answer{Refusal: &Refusal{Code: 400, Reason: "NOT_A_CRD"}}, true},
		{"no refusal", Answer{Refusal: &Refusal{Code: 400}}, Answer{}, false},
	} {
		if diffs := Compare(c.upstream, c.ours); (len(diffs) == 0) != c.same {
			t.Errorf("%s: %q", c.name, diffs)
		}
	}
}
