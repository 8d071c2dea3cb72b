package tests

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

func TestOracleCompare(t *testing.T) {
	fieldError := func(detail string, bad any) oracle.FieldError {
		return oracle.FieldErrorOf(field.Invalid(field.NewPath("a"), bad, detail))
	}
	for _, c := range []struct {
		name           string
		upstream, ours oracle.Answer
		same           bool
	}{
		{"nothing", oracle.Answer{}, oracle.Answer{}, true},
		{"order of field errors", oracle.Answer{Errors: []oracle.FieldError{fieldError("x", 1), fieldError("y", 2)}}, oracle.Answer{Errors: []oracle.FieldError{fieldError("y", 2), fieldError("x", 1)}}, true},
		{"number of field errors", oracle.Answer{Errors: []oracle.FieldError{fieldError("x", 1), fieldError("x", 1)}}, oracle.Answer{Errors: []oracle.FieldError{fieldError("x", 1)}}, false},
		{"bad value", oracle.Answer{Errors: []oracle.FieldError{fieldError("x", 1)}}, oracle.Answer{Errors: []oracle.FieldError{fieldError("x", 1.5)}}, false},
		{"omitted value", oracle.Answer{Errors: []oracle.FieldError{fieldError("x", nil)}}, oracle.Answer{Errors: []oracle.FieldError{fieldError("x", field.OmitValueType{})}}, false},
		{"key order", oracle.Answer{Object: json.RawMessage(`{"a":1,"b":[2]}`)}, oracle.Answer{Object: json.RawMessage(`{"b":[2],"a":1}`)}, true},
		{"literal", oracle.Answer{Object: json.RawMessage(`{"a":1}`)}, oracle.Answer{Object: json.RawMessage(`{"a":1.0}`)}, false},
		{"digits", oracle.Answer{Object: json.RawMessage(`9007199254740993`)}, oracle.Answer{Object: json.RawMessage(`9007199254740992`)}, false},
		{"absent object", oracle.Answer{Object: json.RawMessage(`{}`)}, oracle.Answer{}, false},
		{"order of warnings", oracle.Answer{Warnings: []string{"a", "b"}}, oracle.Answer{Warnings: []string{"b", "a"}}, false},
		{"rejection", oracle.Answer{Rejection: &oracle.Rejection{Code: 400, Message: "a"}}, oracle.Answer{Rejection: &oracle.Rejection{Code: 400, Message: "b"}}, false},
		{"rejection in own words", oracle.Answer{Rejection: &oracle.Rejection{Code: 400, Message: "a"}}, oracle.Answer{Rejection: &oracle.Rejection{Code: 400, Reason: "NOT_A_CRD"}}, true},
		{"no rejection", oracle.Answer{Rejection: &oracle.Rejection{Code: 400}}, oracle.Answer{}, false},
	} {
		if diffs := oracle.Compare(c.upstream, c.ours); (len(diffs) == 0) != c.same {
			t.Errorf("%s: %q", c.name, diffs)
		}
	}
}
