package bench

import (
	"context"
	"encoding/json"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// update compares whole updates on one core, from the bytes of the old object and of the request to those for the
// database and for the client: the old object is read as from storage, the new one has another label; everything is
// validated with the old object beside it.
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
	return writes(o, name, func() (written, error) { return us.update(old, body) }, func() (written, error) { return them.update(old, body) })
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

func (o *ours) update(old, body []byte) (written, error) {
	return o.admit(&admission.Request{Version: o.version, Body: body, Old: old, Handler: true, Whole: true, WantObject: true})
}

// update is an update as rest.BeforeUpdate does it, and what comes of it.
func (u *upstream) update(old, body []byte) (written, error) {
	object, err := u.shape(body)
	if err != nil {
		return written{}, err
	}
	stored, err := u.read(old)
	if err != nil {
		return written{}, err
	}
	strategy, ok := u.strategy.(rest.RESTUpdateStrategy)
	if !ok {
		return written{}, errors.New("the strategy does not update")
	}
	ctx := context.Background()
	object.SetGeneration(stored.GetGeneration())
	strategy.PrepareForUpdate(ctx, object, stored)
	if errs := strategy.ValidateUpdate(ctx, object, stored); len(errs) > 0 {
		return written{}, errors.New(errs.ToAggregate().Error())
	}
	return u.write(object)
}
