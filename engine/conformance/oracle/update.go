package oracle

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"
)

// update answers an update of an object or of its status. The new object is decoded as in create, the old object as in
// a read from storage. The steps of rest.BeforeUpdate follow.
func (d *Definition) update(r Request) Answer {
	v := d.versions[r.Version]
	if v == nil || !v.served {
		return Answer{Rejection: &Rejection{Code: 404, Reason: "NotFound", Message: "the server could not find the requested resource"}}
	}
	var headers headers
	headers.add(v.warnings...)
	if r.Op == Status && !v.hasStatus {
		return Answer{Rejection: &Rejection{Code: 404, Reason: Unworded}, Warnings: headers.sent()} // the text contains the name in the URL, which the cases do not specify
	}
	strategy := v.update
	if r.Op == Status {
		strategy = v.status
	}
	obj, strict, rejection := d.decode(v, r)
	for _, text := range strict {
		headers.add(yamlWarnings(text)...)
	}
	if rejection != nil {
		rejection.Warnings = headers.sent()
		return *rejection
	}
	if r.Handler {
		if err := d.handle(obj, r, &headers); err != nil {
			return Answer{Rejection: rejectionOf(err), DecodeError: err.Error(), Warnings: headers.sent()}
		}
	}
	old, err := d.stored(r.Old, r.Version)
	if err != nil { // the text depends on the storage of the server
		return Answer{Rejection: &Rejection{Code: 500, Reason: Unworded}, DecodeError: err.Error()}
	}
	if r.Op == Status && old.GetResourceVersion() == "" {
		old.SetResourceVersion(obj.GetResourceVersion()) // the storage would have set and compared it
	}
	recorder := &recorder{}
	ctx := warning.WithWarningRecorder(context.Background(), recorder)
	before(ctx, strategy, obj, old)
	answer := Answer{Strict: strict, Errors: FieldErrorsOf(rest.ValidateUpdate(ctx, tracked(obj, r), old, strategy))}
	answer.Ratcheted = len(recorder.texts)
	headers.add(recorder.texts...)
	if len(answer.Errors) == 0 {
		headers.add(strategy.WarningsOnUpdate(ctx, obj, old)...)
	}
	answer.Warnings = headers.sent()
	answer.Object, _ = json.Marshal(obj)
	return answer
}

// before reproduces what rest.BeforeUpdate does to the new object.
func before(ctx context.Context, strategy rest.RESTUpdateStrategy, obj, old runtime.Object) {
	now, _ := meta.Accessor(obj)
	then, _ := meta.Accessor(old)
	now.SetGeneration(then.GetGeneration())
	strategy.PrepareForUpdate(ctx, obj, old)
	if now.GetUID() == "" && then.GetUID() != "" {
		now.SetUID(then.GetUID())
	}
	if t := then.GetCreationTimestamp(); !t.IsZero() {
		now.SetCreationTimestamp(t)
	}
	if !then.GetDeletionTimestamp().IsZero() {
		now.SetDeletionTimestamp(then.GetDeletionTimestamp())
	}
	if then.GetDeletionGracePeriodSeconds() != nil && now.GetDeletionGracePeriodSeconds() == nil {
		now.SetDeletionGracePeriodSeconds(then.GetDeletionGracePeriodSeconds())
	}
}

// recorder collects the warnings of validation: ratcheted rules.
type recorder struct {
	texts []string
	seen  sets.Set[string]
}

// AddWarning implements warning.Recorder.
func (r *recorder) AddWarning(_, text string) {
	if r.seen == nil {
		r.seen = sets.New[string]()
	}
	if !r.seen.Has(text) {
		r.seen.Insert(text)
		r.texts = append(r.texts, text)
	}
}
