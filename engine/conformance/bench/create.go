package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// structural compares creates on one core: strict decoding, metadata, pruning, nulls, defaults, OpenAPI validation,
// embedded metadata, list types. Both sides omit rules and the validation of the object's own metadata. Our time
// includes the object's new bytes; upstream's ends with its map.
func structural(o Options, name string, obj *object) (string, error) {
	return accepted(o, name, obj.bare(), (*ours).structural, func(u *upstream, body []byte) (any, error) { return u.structural(body) })
}

// admit compares whole creates on one core, from the bytes of the request to those for the database and for the client:
// all of structural, the object's own metadata, and the rules within upstream's budget, then storage.
func admit(o Options, name string, obj *object) (string, error) {
	our, err := newOurs(obj)
	if err != nil {
		return "", err
	}
	their, err := newUpstream(obj)
	if err != nil {
		return "", err
	}
	return writes(o, name, func() (written, error) { return our.create(obj.body) }, func() (written, error) { return their.admit(obj.body) })
}

// writes compares writes, after both sides returned the same.
func writes(o Options, name string, us, them func() (written, error)) (string, error) {
	a, err := us()
	if err != nil {
		return "", fmt.Errorf("ours: %w", err)
	}
	b, err := them()
	if err != nil {
		return "", fmt.Errorf("upstream: %w", err)
	}
	if err := a.same(b); err != nil {
		return "", err
	}
	only := func(write func() (written, error)) func() error {
		return func() error {
			_, err := write()
			return err
		}
	}
	x, y, err := compare(o, only(us), only(them))
	return timeLine(name, x, y, runtime.GOMAXPROCS(0)), err
}

// accepted compares creates of the object, after both sides returned the same.
func accepted(o Options, name string, obj *object, us func(*ours, []byte) ([]byte, error), them func(*upstream, []byte) (any, error)) (string, error) {
	our, err := newOurs(obj)
	if err != nil {
		return "", err
	}
	their, err := newUpstream(obj)
	if err != nil {
		return "", err
	}
	text, err := us(our, obj.body)
	if err != nil {
		return "", fmt.Errorf("ours: %w", err)
	}
	object, err := them(their, obj.body)
	if err != nil {
		return "", fmt.Errorf("upstream: %w", err)
	}
	if err := sameObject(text, object); err != nil {
		return "", err
	}
	a, b, err := compare(o, func() error {
		_, err := us(our, obj.body)
		return err
	}, func() error {
		_, err := them(their, obj.body)
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// sameObject checks that both sides return the same object, before the measurement. Upstream's has the resourceVersion
// that its storage would remove.
func sameObject(text []byte, object any) error {
	theirs, err := json.Marshal(object)
	if err != nil {
		return err
	}
	var a, b map[string]any
	if err := errors.Join(json.Unmarshal(text, &a), json.Unmarshal(theirs, &b)); err != nil {
		return err
	}
	if meta, ok := b["metadata"].(map[string]any); ok {
		delete(meta, "resourceVersion")
	}
	if !reflect.DeepEqual(a, b) {
		return fmt.Errorf("ours makes %s and upstream %s", text, theirs)
	}
	return nil
}

// faults is the number of field errors of the faulty objects.
const faults = 10

// reject compares whole creates of an object with ten field errors, from its bytes to the field errors and the Status
// for the client.
func reject(o Options, name string, obj *object) (string, error) {
	us, err := newOurs(obj)
	if err != nil {
		return "", err
	}
	them, err := newUpstream(obj)
	if err != nil {
		return "", err
	}
	if err := sameFieldErrors(us, them, obj.faulty); err != nil {
		return "", err
	}
	a, b, err := compare(o, func() error {
		_, _, err := us.rejected(obj.faulty)
		return err
	}, func() error {
		_, _, err := them.rejected(obj.faulty)
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// sameFieldErrors checks that both sides return the same ten field errors, before the measurement. Upstream's order is
// random, and so is that in the Status's message.
func sameFieldErrors(us *ours, them *upstream, body []byte) error {
	our, rejection, err := us.rejected(body)
	if err != nil {
		return fmt.Errorf("ours: %w", err)
	}
	their, status, err := them.rejected(body)
	if err != nil {
		return fmt.Errorf("upstream: %w", err)
	}
	var a, b oracle.Answer
	for i := range our {
		a.Errors = append(a.Errors, oracle.FieldErrorOf(our[i].Error))
	}
	b.Errors = oracle.FieldErrorsOf(their)
	if diffs := oracle.Compare(b, a); len(diffs) > 0 {
		return fmt.Errorf("field errors differ: %q", diffs)
	}
	if n := len(their); n != faults {
		return fmt.Errorf("%d field errors, not %d: %w", n, faults, their.ToAggregate())
	}
	if s := status.Status(); s.Code != rejection.Code || string(s.Reason) != rejection.Reason || !sameLetters(s.Message, rejection.Message) {
		return fmt.Errorf("ours answers %+v and upstream %+v", *rejection, s)
	}
	return nil
}

// sameLetters compares texts regardless of the order of their bytes.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
