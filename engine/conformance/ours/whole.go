package ours

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

// patches maps media types to types of patches.
var patches = map[string]engine.PatchType{oracle.MergePatch: engine.MergePatch, oracle.JSONPatch: engine.JSONPatch}

// writeOf converts a request to the API server's handlers to a write.
func writeOf(r oracle.Request) engine.Write {
	doc := engine.JSON(r.Body)
	if r.YAML {
		doc = engine.YAML(r.Body)
	}
	switch {
	case r.Patch != "":
		return engine.Patch{
			Type: patches[r.Patch], Body: doc, Old: engine.JSON(r.Old), Subresource: subresource(r), Version: r.Version,
			Namespace: r.Namespace, Name: r.Name,
		}
	case r.Op == oracle.Create:
		return engine.Create{Object: doc, Version: r.Version, Namespace: r.Namespace, Name: r.Name}
	}
	return updateOf(r, doc)
}

// updateOf returns the update of a request with another object.
func updateOf(r oracle.Request, object engine.Document) engine.Update {
	return engine.Update{
		Object: object, Old: engine.JSON(r.Old), Subresource: subresource(r), Version: r.Version, Namespace: r.Namespace,
		Name: r.Name,
	}
}

// decodedWrite returns the write of a request whose object is decoded.
func decodedWrite(r oracle.Request, object []byte) engine.ObjectWrite {
	if r.Op == oracle.Create {
		return engine.Create{Object: engine.JSON(object), Version: r.Version, Namespace: r.Namespace, Name: r.Name}
	}
	return updateOf(r, engine.JSON(object))
}

func subresource(r oracle.Request) string {
	switch r.Op {
	case oracle.Status:
		return "status"
	case oracle.Scale:
		return "scale"
	}
	return ""
}

// options returns the options of a request. Values that a server generates are completed if the answer needs them.
func options(r oracle.Request) engine.AdmitOptions {
	return engine.AdmitOptions{FieldValidation: public[r.FieldValidation], WithStatus: true, CompleteMetadata: r.Op == oracle.Create && generates(r)}
}

// generates reports whether an API server would generate a name.
func generates(r oracle.Request) bool {
	return bytes.Contains(r.Body, []byte("generateName")) || bytes.Contains(r.Mutation, []byte("generateName"))
}

// whole answers a request as the API server's handlers do: with Admit, in one call and in its two stages.
func (d *Definition) whole(r oracle.Request) oracle.Answer {
	if r.Mutation != nil {
		return d.mutated(r)
	}
	ctx, o := context.Background(), options(r)
	v, err := d.facade.Admit(ctx, writeOf(r), o)
	if err != nil {
		return oracle.Answer{Rejection: facadeRejection(err)}
	}
	a := answerOf(v)
	decoded, err := d.facade.Decode(ctx, writeOf(r), o)
	if err != nil {
		a.Rejection = facadeRejection(fmt.Errorf("stage DECODE: %w", err))
		return a
	}
	a.Decoded, a.OldDecoded = decoded.Object, decoded.OldObject
	return a
}

// mutated answers a request with mutating admission: DECODE, the mutation, FINISH.
func (d *Definition) mutated(r oracle.Request) oracle.Answer {
	ctx, o := context.Background(), options(r)
	decoded, err := d.facade.Decode(ctx, writeOf(r), o)
	if err != nil {
		return oracle.Answer{Rejection: facadeRejection(err)}
	}
	if !decoded.Allowed {
		return answerOf(decoded)
	}
	object, err := oracle.Mutate(decoded.Object, r.Mutation)
	if err != nil {
		return oracle.Answer{Rejection: facadeRejection(err)}
	}
	finished, err := d.facade.Finish(ctx, decodedWrite(r, object), o)
	if err != nil {
		return oracle.Answer{Rejection: facadeRejection(err)}
	}
	a := answerOf(finished)
	a.Decoded, a.OldDecoded = decoded.Object, decoded.OldObject
	for _, text := range engine.KubernetesWarnings(decoded.Warnings) {
		if !slices.Contains(a.Warnings, text) {
			a.Warnings = append(a.Warnings, text)
		}
	}
	return a
}

// answerOf converts a verdict to an answer.
func answerOf(v *engine.Verdict) oracle.Answer {
	a := oracle.Answer{Object: v.Object, Stored: v.StoredObject, Deletes: v.Deletes, Unchanged: v.Unchanged, Status: v.Status, Warnings: engine.KubernetesWarnings(v.Warnings)}
	if a.Stored == nil && !v.Deletes {
		a.Stored = v.Object
	}
	if v.Rejection != nil {
		a.Rejection = &oracle.Rejection{Code: v.Rejection.Code, Reason: v.Rejection.Reason, Message: v.Rejection.Message}
	}
	return a
}

func facadeRejection(err error) *oracle.Rejection {
	switch reason := engine.ReasonOf(err); reason {
	case engine.ReasonVersionNotFound, engine.ReasonVersionNotServed:
		return &oracle.Rejection{Code: 404, Reason: "NotFound", Message: "the server could not find the requested resource"}
	default:
		return &oracle.Rejection{Code: 500, Reason: string(reason), Message: err.Error()}
	}
}

// checkWhole looks for contradictions in the results of Admit: between field errors and causes of the Status, and
// between one call and the two stages.
func (d *Definition) checkWhole(r oracle.Request) (diffs []string) {
	if r.Mutation != nil {
		return d.checkMutated(r)
	}
	ctx, o := context.Background(), options(r)
	v, err := d.facade.Admit(ctx, writeOf(r), o)
	if err != nil {
		return nil
	}
	if diff := causes(v); diff != "" {
		diffs = append(diffs, diff)
	}
	diffs = append(diffs, d.reasons(r, v)...)
	diffs = append(diffs, d.checkValidate(r, v)...)
	diffs = append(diffs, d.checkView(r, v)...)
	diffs = append(diffs, d.checkBody(r)...)
	decoded, err := d.facade.Decode(ctx, writeOf(r), o)
	if err != nil || !decoded.Allowed {
		return diffs // already compared with upstream
	}
	finished, err := d.facade.Finish(ctx, decodedWrite(r, decoded.Object), o)
	if err != nil {
		return append(diffs, "stage FINISH: "+err.Error())
	}
	want, got := answerOf(v), answerOf(finished)
	want.Warnings, got.Warnings = nil, nil
	for _, diff := range oracle.CompareWhole(want, got, true) {
		diffs = append(diffs, "stages (upstream is WHOLE, ours is FINISH): "+diff)
	}
	if decoded.OldObject == nil || r.Op == oracle.Scale { // the old object at admission is a Scale
		return diffs
	}
	second := updateOf(r, engine.JSON(decoded.Object))
	second.Old, second.OldDecoded = engine.JSON(decoded.OldObject), true
	held, err := d.facade.Finish(ctx, second, o)
	if err != nil {
		return append(diffs, "stage FINISH with a decoded old object: "+err.Error())
	}
	got = answerOf(held)
	want.Unchanged, got.Warnings, got.Unchanged = false, nil, false // the stored bytes are unknown
	for _, diff := range oracle.CompareWhole(want, got, true) {
		diffs = append(diffs, "old object (upstream is from storage, ours is decoded): "+diff)
	}
	return diffs
}

// checkMutated compares stage FINISH of a mutated object with an old object from storage and with a decoded one.
func (d *Definition) checkMutated(r oracle.Request) []string {
	ctx, o := context.Background(), options(r)
	decoded, err := d.facade.Decode(ctx, writeOf(r), o)
	if err != nil || decoded.OldObject == nil || r.Op == oracle.Scale { // the old object at admission is a Scale
		return nil
	}
	object, err := oracle.Mutate(decoded.Object, r.Mutation)
	if err != nil {
		return nil
	}
	stored := updateOf(r, engine.JSON(object))
	want, err := d.facade.Finish(ctx, stored, o)
	if err != nil {
		return nil // already compared with upstream
	}
	held := stored
	held.Old, held.OldDecoded = engine.JSON(decoded.OldObject), true
	got, err := d.facade.Finish(ctx, held, o)
	if err != nil {
		return []string{"stage FINISH with a decoded old object: " + err.Error()}
	}
	before, after := answerOf(want), answerOf(got)
	before.Unchanged, after.Unchanged = false, false // the stored bytes are unknown
	var diffs []string
	for _, diff := range oracle.CompareWhole(before, after, true) {
		diffs = append(diffs, "old object (upstream is from storage, ours is decoded): "+diff)
	}
	return diffs
}

// checkValidate compares Validate with Admit, except for checks of the stored object's state, which only Admit makes.
func (d *Definition) checkValidate(r oracle.Request, admitted *engine.Verdict) (diffs []string) {
	if f := admitted.Rejection; f != nil && (f.Reason == "Conflict" || f.Code == http.StatusInternalServerError || len(admitted.Violations) == 1 && admitted.Violations[0].Step == engine.StepRequest) {
		return nil
	}
	o := options(r)
	v, err := d.facade.Validate(context.Background(), writeOf(r), engine.ValidateOptions{
		FieldValidation: o.FieldValidation, WithStatus: o.WithStatus, CompleteMetadata: o.CompleteMetadata,
	})
	if err != nil {
		return []string{"Validate: " + err.Error()}
	}
	if v.Allowed && r.Op == oracle.Scale && strings.Contains(rejectionMessage(admitted), " accessor error: ") {
		return nil // storage returns an object without a Scale
	}
	want, got := answerOf(admitted), answerOf(v)
	want.Object, want.Stored, want.Deletes, want.Unchanged = nil, nil, false, false
	if r.Op == oracle.Create {
		want, got = unwiped(want), unwiped(got)
	}
	for _, diff := range oracle.CompareWhole(want, got, true) {
		diffs = append(diffs, "calls (upstream is Admit, ours is Validate): "+diff)
	}
	return diffs
}

// checkBody compares BodyAndValidate with Body and Validate, between which a server sets metadata.
func (d *Definition) checkBody(r oracle.Request) (diffs []string) {
	if r.Patch != "" || r.Op == oracle.Scale {
		return nil
	}
	ctx, o := context.Background(), kubeserver.WriteOptions{FieldValidation: public[r.FieldValidation], WithStatus: true}
	body := engine.JSON(r.Body)
	if r.YAML {
		body = engine.YAML(r.Body)
	}
	both := func(object engine.Document) engine.ObjectWrite {
		return engine.Create{Object: object, Version: r.Version, Namespace: r.Namespace, Name: r.Name}
	}
	if r.Op != oracle.Create {
		old, err := d.facade.Read(ctx, engine.JSON(r.Old), engine.ReadOptions{TargetVersion: r.Version})
		if err != nil {
			return nil
		}
		both = func(object engine.Document) engine.ObjectWrite {
			update := updateOf(r, object)
			update.Old, update.OldDecoded = engine.JSON(old.Object), true
			return update
		}
	}
	got, err := kubeserver.BodyAndValidate(ctx, d.facade, both(body), o)
	if err != nil {
		return []string{"BodyAndValidate: " + err.Error()}
	}
	want, err := kubeserver.Body(ctx, d.facade, r.Version, body, o)
	if err != nil {
		return []string{"Body: " + err.Error()}
	}
	for _, diff := range oracle.CompareWhole(unwarned(want.Verdict), unwarned(got.Verdict), true) {
		diffs = append(diffs, "calls (upstream is Body, ours is BodyAndValidate): "+diff)
	}
	if !slices.Equal(got.StrictErrors, want.StrictErrors) {
		diffs = append(diffs, fmt.Sprintf("strict errors: Body %q, BodyAndValidate %q", want.StrictErrors, got.StrictErrors))
	}
	if !got.ValidateAccepts {
		return diffs
	}
	set := `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2026-01-05T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{}}]`
	if r.Op == oracle.Create {
		set += `,"uid":"u","creationTimestamp":"2026-01-05T08:00:00Z","deletionTimestamp":null,"deletionGracePeriodSeconds":null,"selfLink":null`
	}
	if d.facade.Scope() != apiextensionsv1.NamespaceScoped {
		set += `,"namespace":null`
	} else if r.Namespace != "" {
		set += fmt.Sprintf(`,"namespace":%q`, r.Namespace)
	}
	prepared, err := oracle.Mutate(got.Object, []byte(`{"metadata":{`+set+`}}`))
	if err != nil {
		return append(diffs, err.Error())
	}
	validated, err := kubeserver.Validate(ctx, d.facade, both(engine.JSON(prepared)), o)
	if err != nil {
		return append(diffs, "Validate: "+err.Error())
	}
	if !validated.Allowed || validated.ReadsAsWritten != got.ReadsAsWritten || !slices.EqualFunc(validated.Warnings, got.Warnings, sameText) {
		diffs = append(diffs, fmt.Sprintf("valid in BodyAndValidate: %+v, %+v; in Validate: %+v, %v, %+v",
			got.ReadsAsWritten, got.Warnings, validated.Rejection, validated.ReadsAsWritten, validated.Warnings))
	}
	return diffs
}

func sameText(a, b engine.Warning) bool { return a.Text == b.Text }

// unwarned returns the answer of a verdict without its warnings.
func unwarned(v *engine.Verdict) oracle.Answer {
	a := answerOf(v)
	a.Warnings = nil
	return a
}

func rejectionMessage(v *engine.Verdict) string {
	if v.Rejection == nil {
		return ""
	}
	return v.Rejection.Message
}

// checkView compares results with objects and without.
func (d *Definition) checkView(r oracle.Request, admitted *engine.Verdict) []string {
	o := options(r)
	o.View = engine.ViewNone
	v, err := d.facade.Admit(context.Background(), writeOf(r), o)
	if err != nil {
		return []string{"view of the verdict: " + err.Error()}
	}
	want, got := answerOf(admitted), answerOf(v)
	want.Object, want.Stored = nil, nil
	var diffs []string
	for _, diff := range oracle.CompareWhole(want, got, true) {
		diffs = append(diffs, "views (upstream is with objects, ours is the verdict alone): "+diff)
	}
	return diffs
}

// wiped returns what Admit removes from the metadata of a creation, in the JSON of an object with a generation.
// Validate keeps it, because validating webhooks pass objects with metadata set by a server, and a field error that
// prints the whole object prints it unchanged.
var wiped = regexp.MustCompile(`"(?:creationTimestamp|deletionTimestamp)":"[^"]*",|"deletionGracePeriodSeconds":-?[0-9]+,|,"(?:selfLink|uid)":"(?:[^"\\]|\\.)*"`)

// unwiped returns a rejection whose texts do not contain what was removed.
func unwiped(a oracle.Answer) oracle.Answer {
	var status metav1.Status
	if a.Rejection == nil || json.Unmarshal(a.Status, &status) != nil {
		return a
	}
	r := *a.Rejection
	r.Message = wiped.ReplaceAllString(r.Message, "")
	status.Message = r.Message
	if status.Details != nil {
		for i := range status.Details.Causes {
			status.Details.Causes[i].Message = wiped.ReplaceAllString(status.Details.Causes[i].Message, "")
		}
	}
	a.Rejection = &r
	a.Status, _ = json.Marshal(status)
	return a
}

// causes compares the field errors with the causes of the Status.
func causes(v *engine.Verdict) string {
	found := slices.DeleteFunc(slices.Clone(v.Violations), func(f engine.Violation) bool { return !kubeserver.IsCause(f.Type) })
	if len(found) == 0 {
		return ""
	}
	var status struct {
		Details struct {
			Causes []struct{ Reason, Message, Field string }
		}
	}
	if err := json.Unmarshal(v.Status, &status); err != nil {
		return "status: " + err.Error()
	}
	if len(status.Details.Causes) != len(found) {
		return fmt.Sprintf("status: %d causes of %d field errors", len(status.Details.Causes), len(found))
	}
	for i, c := range status.Details.Causes {
		if f := found[i]; c.Reason != f.Type || c.Message != f.Message || c.Field != f.Field {
			return fmt.Sprintf("status: cause %+v of field error %s %s", c, f.Type, f.Error())
		}
	}
	return ""
}
