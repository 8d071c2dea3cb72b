package violation

import (
	"errors"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Message is the message of the Status in which an API server refuses an object for these errors: each text once, in brackets if
// there are several. It is that of k8s.io/apimachinery's errors.NewInvalid, which takes time that grows with the square of its
// length; this takes it in proportion. stopped is asked now and then whether anybody still waits for it; then the message is
// incomplete and must not be used. nil is never asked.
func Message(kind schema.GroupKind, name string, errs []*field.Error, stopped func() bool) string {
	text := append([]byte(kind.String()), ' ')
	text = append(strconv.AppendQuote(text, name), " is invalid"...)
	if len(errs) == 0 {
		return string(text)
	}
	return string(appendTexts(append(text, ": "...), errs, stopped))
}

// Together is one error for all of these, as field.ErrorList.ToAggregate makes it, nil for none; see Message.
func Together(errs []*field.Error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(string(appendTexts(nil, errs, nil)))
}

func appendTexts(text []byte, errs []*field.Error, stopped func() bool) []byte {
	start := len(text)
	seen := make(map[string]struct{}, len(errs))
	for i, err := range errs {
		if i%64 == 63 && stopped != nil && stopped() {
			break
		}
		one := err.Error()
		if _, known := seen[one]; known {
			continue
		}
		switch seen[one] = struct{}{}; len(seen) {
		case 1:
			text = append(text, '[') // in the place of which there is nothing if no other comes
		default:
			text = append(text, ", "...)
		}
		text = append(text, one...)
	}
	if len(seen) == 1 {
		return append(text[:start], text[start+1:]...)
	}
	return append(text, ']')
}
