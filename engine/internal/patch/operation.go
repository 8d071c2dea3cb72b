package patch

import (
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/value"
)

// operation is one operation of a JSON patch.
type operation struct {
	name       string  // empty if it is not a string
	path, from *string // nil if they are not strings
	value      node
	hasValue   bool
}

// read reads an operation. Members of the wrong type count as absent.
func (t *Tree) read(at uint32) (op operation) {
	d := t.patch
	text := func(key string) *string {
		c := d.Field(at, key)
		if d.Nodes[c].Kind != value.String {
			return nil
		}
		text := d.Str(c)
		return &text
	}
	if name := text("op"); name != nil {
		op.name = *name
	}
	op.path, op.from = text("path"), text("from")
	if c := d.Field(at, "value"); c != 0 {
		op.hasValue, op.value = true, node{kind: ofPatch, at: c}
		if d.Nodes[c].Kind == value.Null {
			op.value = node{kind: given}
		}
	}
	return op
}

// notApplied is an API server's message about a JSON patch that does not match the object.
const notApplied = "the server rejected our request due to an error in our request"

// run applies the operations of a JSON patch in their order.
func (t *Tree) run(p Document) error {
	n := t.patch.Len(p.Root)
	if n > MaxOperations {
		return &Error{Code: http.StatusRequestEntityTooLarge,
			Text: fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", MaxOperations, n)}
	}
	t.opens(&t.root)
	k := 0
	for c := t.patch.Nodes[p.Root].First; c != 0; c = t.patch.Nodes[c].Next {
		if t.stop.Stopped() {
			return value.ErrStopped
		}
		op := t.read(c)
		err := t.apply(&op)
		at := func(text string) string { return fmt.Sprintf("operation %d%s: %s", k, op.describe(), text) }
		switch limit := new(value.LimitError); {
		case t.crashed:
			return &Error{Code: http.StatusInternalServerError, Text: Crash,
				Detail: at("API servers panic on it: " + textOf(err))}
		case errors.As(err, &limit):
			return err
		case err != nil:
			return &Error{Code: http.StatusUnprocessableEntity, Text: notApplied, Detail: at(err.Error())}
		}
		k++
	}
	return nil
}

func textOf(err error) string {
	if err == nil {
		return "it compares or changes a null"
	}
	return err.Error()
}

// describe returns the operation for messages.
func (op *operation) describe() string {
	text := ""
	if op.name != "" {
		text = " (" + shortened(op.name)
		if op.from != nil {
			text += " from " + shortened(*op.from)
		}
		if op.path != nil {
			text += " " + shortened(*op.path)
		}
		text += ")"
	}
	return text
}

// shownBytes is how many bytes of a path a message has.
const shownBytes = 200

func shortened(text string) string {
	if len(text) <= shownBytes {
		return text
	}
	end := shownBytes
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

var (
	errNoPath = errors.New("it has no path that is a text")
	errNoFrom = errors.New("it has no from that is a text")
)

func (t *Tree) apply(op *operation) error {
	switch op.name {
	case "add":
		at, err := t.slot(op.path, errNoPath)
		if err != nil {
			return err
		}
		return t.insert(at, op.value) // null if there is no value
	case "remove":
		at, err := t.slot(op.path, errNoPath)
		if err != nil {
			return err
		}
		return t.take(at)
	case "replace":
		return t.replace(op)
	case "move":
		return t.move(op)
	case "test":
		return t.test(op)
	case "copy":
		return t.copy(op)
	case "":
		return errors.New("it has no op that is a text: add, remove, replace, move, copy and test are known")
	}
	return errors.New("no such operation: add, remove, replace, move, copy and test are known")
}

// replace sets the value at the path. A member of an object need not exist. At the empty path the value must be an
// object or a list.
func (t *Tree) replace(op *operation) error {
	if op.path != nil && *op.path == "" {
		if !op.hasValue {
			t.crashed = true
			return errors.New("it has no value")
		}
		if k := t.shape(op.value); k != value.Object && k != value.Array {
			return errors.New("the whole can be replaced by an object or a list alone")
		}
		t.root = op.value
		t.opens(&t.root)
		return nil
	}
	at, err := t.slot(op.path, errNoPath)
	if err != nil {
		return err
	}
	c := &t.open[at.in]
	switch {
	case !c.list && c.sealed:
		t.crashed = true
		return errors.New("it changes a null that was copied")
	case !c.list && c.member(at.key) < 0 && !quirk.On(quirk.ReplaceAddsMissingMember):
		return fmt.Errorf("there is no member %q", at.key)
	case !c.list:
		c.set(at.key, op.value)
		return nil
	}
	i, err := c.element(at.key)
	if err != nil {
		return err
	}
	c.elements[i] = op.value
	return nil
}

func (t *Tree) move(op *operation) error {
	from, err := t.slot(op.from, errNoFrom)
	if err != nil {
		return err
	}
	moved, err := t.get(from)
	if err != nil {
		return err
	}
	n := *moved
	if err := t.take(from); err != nil {
		return err
	}
	at, err := t.slot(op.path, errNoPath)
	if err != nil {
		return err
	}
	return t.insert(at, n)
}

func (t *Tree) copy(op *operation) error {
	from, err := t.slot(op.from, errNoFrom)
	if err != nil {
		return err
	}
	if _, err := t.get(from); err != nil {
		return err
	}
	at, err := t.slot(op.path, errNoPath)
	if err != nil {
		return err
	}
	copied, err := t.get(from) // again, since finding the path may have opened it, which changes how it is printed
	if err != nil {
		return err
	}
	n := *copied
	if n.kind != null {
		if t.nested(n, MaxNested) {
			return tooNested()
		}
		t.copied += t.printedLen(n)
		if t.copied > MaxCopied {
			return fmt.Errorf("the copies of the patch take %d bytes so far, more than the %d that they may", t.copied,
				MaxCopied)
		}
		n = t.duplicate(n)
	}
	return t.insert(at, n)
}

func (t *Tree) test(op *operation) error {
	same := false
	if op.path != nil && *op.path == "" {
		if !op.hasValue {
			t.crashed = true
			return errors.New("it has no value")
		}
		same = t.equal(&t.root, op.value)
	} else {
		at, err := t.slot(op.path, errNoPath)
		if err != nil {
			return err
		}
		n, err := t.get(at)
		switch {
		case err != nil:
			return err
		case n.kind == null:
			same = !op.hasValue || op.value.kind == given
		case op.hasValue:
			same = t.equal(n, op.value)
		}
	}
	if t.crashed {
		return nil
	}
	if !same {
		return errors.New("the value is another one, or is written in another way")
	}
	return nil
}
