package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// update compares whole updates on one core: the old object read as from storage, the new one with another label; everything validated with the old
// object beside it. Our figure has the object's new bytes in it, upstream's ends with its map.
func update(o Options, name string, obj *object) (string, error) {
	us, err := newOurs(obj)
	if err != nil {
		return "", err
	}
	them, err := newUpstream(obj)
	if err != nil {
		return "", err
	}
	old, body, err := obj.versions()
	if err != nil {
		return "", err
	}
	text, err := us.update(old, body)
	if err != nil {
		return "", fmt.Errorf("ours: %w", err)
	}
	object, err := them.update(old, body)
	if err != nil {
		return "", fmt.Errorf("upstream: %w", err)
	}
	if err := sameObject(text, object); err != nil {
		return "", err
	}
	a, b, err := compare(o, func() error {
		_, err := us.update(old, body)
		return err
	}, func() error {
		_, err := them.update(old, body)
		return err
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// versions are the object as it stands in storage, and as a client sends it to replace that.
func (o *object) versions() (old, body []byte, err error) {
	var u unstructured.Unstructured
	if err := u.UnmarshalJSON(o.body); err != nil {
		return nil, nil, err
	}
	u.SetResourceVersion("17")
	u.SetUID("7a1c52de-6a0c-4f0b-9f1b-3a4a3c1f0001")
	u.SetGeneration(3)
	if old, err = json.Marshal(&u); err != nil {
		return nil, nil, err
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["changed"] = "true"
	u.SetLabels(labels)
	body, err = json.Marshal(&u)
	return old, body, err
}

func (o *ours) update(old, body []byte) ([]byte, error) {
	out, err := o.definition.Update(context.Background(), &admission.Request{Version: o.version, Body: body, Old: old, Handler: true, WantObject: true}, nil)
	switch {
	case err != nil:
		return nil, err
	case out.Refusal != nil:
		return nil, errors.New(out.Refusal.Message)
	}
	return out.Object, nil
}

// update is an update as rest.BeforeUpdate does it. The old object is decoded and shaped as storage does.
func (u *upstream) update(old, body []byte) (*unstructured.Unstructured, error) {
	object, err := u.shape(body)
	if err != nil {
		return nil, err
	}
	stored, err := u.shape(old)
	if err != nil {
		return nil, err
	}
	strategy, ok := u.strategy.(rest.RESTUpdateStrategy)
	if !ok {
		return nil, errors.New("the strategy does not update")
	}
	ctx := context.Background()
	object.SetGeneration(stored.GetGeneration())
	strategy.PrepareForUpdate(ctx, object, stored)
	if errs := strategy.ValidateUpdate(ctx, object, stored); len(errs) > 0 {
		return nil, errors.New(errs.ToAggregate().Error())
	}
	return object, nil
}
