package patch

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/crdeval/crdeval/engine/internal/quirk"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/internal/violation"
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
		if d.Nodes[c].Kind != tree.String {
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
		if d.Nodes[c].Kind == tree.Null {
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
		return &Error{Code: http.StatusRequestEntityTooLarge, Operation: -1,
			Text: fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", MaxOperations, n)}
	}
	t.opens(&t.root)
	k := 0
	for c := t.patch.Nodes[p.Root].First; c != 0; c = t.patch.Nodes[c].Next {
		if t.stop.Stopped() {
			return tree.ErrStopped
		}
		op := t.read(c)
		err := t.apply(&op)
		if limit := new(tree.LimitError); errors.As(err, &limit) {
			return err
		}
		if t.crashed || err != nil {
			return t.rejection(k, &op, err)
		}
		k++
	}
	return nil
}

// rejection returns the error of an operation that was not applied.
func (t *Tree) rejection(k int, op *operation, err error) error {
	text := fmt.Sprintf("operation %d", k)
	if op.name != "" {
		text += " (" + violation.Shorten(op.name, maxShown)
		if op.from != nil {
			text += " from " + violation.Shorten(*op.from, maxShown)
		}
		if op.path != nil {
			text += " " + violation.Shorten(*op.path, maxShown)
		}
		text += ")"
	}
	if err == nil {
		err = errors.New("it compares or changes a null")
	}
	if t.crashed {
		return &Error{Code: http.StatusInternalServerError, Text: Crash, Operation: k,
			Detail: text + ": API servers panic on it: " + err.Error()}
	}
	return &Error{Code: http.StatusUnprocessableEntity, Text: notApplied, Operation: k, Detail: text + ": " + err.Error()}
}

// maxShown bounds a path in a message, in bytes.
const maxShown = 200

func (t *Tree) apply(op *operation) error {
	whole := op.path != nil && *op.path == ""
	switch {
	case op.name == "move" || op.name == "copy":
		return t.transfer(op)
	case whole && op.name == "replace":
		return t.replaceWhole(op)
	case whole && op.name == "test":
		return t.test(op, &t.root)
	case op.name == "":
		return errors.New("it has no op of type string: add, remove, replace, move, copy and test are known")
	case !slices.Contains([]string{"add", "remove", "replace", "test"}, op.name):
		return errors.New("no such operation: add, remove, replace, move, copy and test are known")
	}
	at, err := t.slot(op.path, "path")
	if err != nil {
		return err
	}
	switch op.name {
	case "add":
		return t.insert(at, op.value) // null if there is no value
	case "remove":
		return t.take(at)
	case "replace":
		return t.replace(at, op.value)
	}
	n, err := t.get(at)
	if err != nil {
		return err
	}
	return t.test(op, n)
}

// replaceWhole replaces the root. The value must be an object or a list.
func (t *Tree) replaceWhole(op *operation) error {
	if !op.hasValue {
		return t.crash("it has no value")
	}
	if !isContainer(t.shape(op.value)) {
		return errors.New("the root can only be replaced by an object or a list")
	}
	t.root = op.value
	t.opens(&t.root)
	return nil
}

// replace sets the value in a slot. A member of an object need not exist.
func (t *Tree) replace(at slot, n node) error {
	c := &t.open[at.in]
	switch {
	case c.sealed:
		return t.crash("it changes a copied null")
	case !c.list && c.member(at.key) < 0 && !quirk.On(quirk.ReplaceAddsMissingMember):
		return fmt.Errorf("there is no member %q", at.key)
	case !c.list:
		c.set(at.key, n)
		return nil
	}
	replaced, err := t.get(at)
	if err == nil {
		*replaced = n
	}
	return err
}

// transfer moves or copies a value.
func (t *Tree) transfer(op *operation) error {
	from, err := t.slot(op.from, "from")
	if err != nil {
		return err
	}
	found, err := t.get(from)
	if err != nil {
		return err
	}
	n := *found
	if op.name == "move" {
		if err := t.take(from); err != nil {
			return err
		}
	}
	at, err := t.slot(op.path, "path")
	if err != nil {
		return err
	}
	if op.name == "copy" {
		// Finding the path may have opened the value, which changes how it is printed.
		if found, err = t.get(from); err != nil {
			return err
		}
		if n, err = t.copyOf(*found); err != nil {
			return err
		}
	}
	return t.insert(at, n)
}

// copyOf returns a copy of a value, and counts its bytes.
func (t *Tree) copyOf(n node) (node, error) {
	if n.kind == null {
		return n, nil
	}
	if t.nested(n, MaxNested) {
		return n, tooNested()
	}
	t.scratch = t.print(t.scratch[:0], n, true)
	if t.copied += len(t.scratch); t.copied > MaxCopied {
		return n, fmt.Errorf("the copies of the patch take at least %d bytes: the limit is %d", t.copied,
			MaxCopied)
	}
	return t.duplicate(n), nil
}

// test compares a value with that of the operation.
func (t *Tree) test(op *operation, n *node) error {
	same := false
	switch {
	case n == &t.root && !op.hasValue:
		return t.crash("it has no value")
	case n.kind == null:
		same = !op.hasValue || op.value.kind == given
	case op.hasValue:
		same = t.equal(n, op.value)
	}
	if same || t.crashed {
		return nil
	}
	return errors.New("the value differs, or is written differently")
}

// crash records that upstream's handler would panic.
func (t *Tree) crash(text string) error {
	t.crashed = true
	return errors.New(text)
}
