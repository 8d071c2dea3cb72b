package violation

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TestViolationOfWarning checks that a violation has everything of the warning, and a message without the field.
func TestViolationOfWarning(t *testing.T) {
	for of, message := range map[field.ErrorType]string{
		TypeUnknownField: "unknown field", TypeDuplicateField: "duplicate field", TypeDecode: "text",
	} {
		w := Warning{
			Type: of, Text: "text", Field: "spec.a", Path: tree.Path{tree.Name("spec"), tree.Name("a")},
			Position: tree.Position{Line: 2, Column: 3, Offset: 4}, Repeat: &tree.DuplicatePlace{}, Hint: &Hint{Text: "b?"},
		}
		want := Violation{
			Error: &field.Error{Type: of, Field: w.Field, BadValue: field.OmitValueType{}, Detail: message},
			Step:  Decode, Path: w.Path, Position: w.Position, Repeat: w.Repeat, Hint: w.Hint,
		}
		if got := w.Violation(Decode); !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}
