package violation

import (
	"bytes"
	"errors"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Message returns the message of the Status with which an API server rejects an object for these errors: each text
// once, in brackets if there are several. It is that of k8s.io/apimachinery's errors.NewInvalid, which takes time that
// grows with the square of its length; this takes it in proportion. stopped is asked now and then whether anybody still
// waits for it; then the message is incomplete and must not be used. nil is never asked.
func Message(kind schema.GroupKind, name string, errs []*field.Error, stopped func() bool) string {
	text := make([]byte, 0, len(kind.Kind)+len(kind.Group)+len(name)+32+roomOf(errs))
	if text = append(text, kind.Kind...); kind.Group != "" {
		text = append(append(text, '.'), kind.Group...)
	}
	text = append(AppendQuoted(append(text, ' '), name), " is invalid"...)
	if len(errs) > 0 {
		text = appendTexts(append(text, ": "...), errs, stopped)
	}
	return unsafe.String(unsafe.SliceData(text), len(text)) // text does not escape otherwise
}

// Together is one error for all of these, as field.ErrorList.ToAggregate makes it, nil for none; see Message.
func Together(errs []*field.Error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(string(appendTexts(nil, errs, nil)))
}

func appendTexts(text []byte, errs []*field.Error, stopped func() bool) []byte {
	text = slices.Grow(text, roomOf(errs))
	start := len(text)
	text = append(text, '[') // in the place of which there is nothing if there is but one
	var said texts
	for i, err := range errs {
		if i%64 == 63 && stopped != nil && stopped() {
			break
		}
		from := len(text)
		if from > start+1 {
			text = append(text, ", "...)
		}
		one := len(text)
		if text = AppendText(text, err); !said.add(text, one) {
			text = text[:from]
		}
	}
	if said.count == 1 {
		return append(text[:start], text[start+1:]...)
	}
	return append(text, ']')
}

// roomOf is about how much room the texts of errors need.
func roomOf(errs []*field.Error) (room int) {
	for _, err := range errs {
		room += Size(err)
	}
	return room
}

// texts are the texts in a buffer that were seen before: a few are compared, more are looked up.
type texts struct {
	count int
	few   [fewTexts]struct{ from, to int }
	more  map[string]struct{}
}

const fewTexts = 16

// add adds the text from an index of the buffer to its end, unless it is one of those before.
func (t *texts) add(buffer []byte, from int) (added bool) {
	one := buffer[from:]
	if t.more == nil {
		for _, s := range t.few[:t.count] {
			if bytes.Equal(buffer[s.from:s.to], one) {
				return false
			}
		}
		if t.count < fewTexts {
			t.few[t.count].from, t.few[t.count].to = from, len(buffer)
			t.count++
			return true
		}
		t.more = make(map[string]struct{}, 2*fewTexts)
		for _, s := range t.few {
			t.more[string(buffer[s.from:s.to])] = struct{}{}
		}
	}
	if _, known := t.more[string(one)]; known {
		return false
	}
	t.more[string(one)] = struct{}{}
	t.count++
	return true
}
