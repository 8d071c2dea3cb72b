package engine

import (
	"context"
	"fmt"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/casefile"
)

// FuzzAdmit: whatever the CRD, the object and the old object, nothing panics, the fast way answers what the exact way
// answers, and the stages together answer what the whole answers.
func FuzzAdmit(f *testing.F) {
	cases, err := casefile.Load("conformance/testdata/cases")
	if err != nil {
		f.Fatal(err)
	}
	seeds, most := 0, 200
	if testing.Short() {
		most = 20 // they take long under the race detector
	}
	for i := range cases {
		for k, object := range cases[i].Objects {
			if old := cases[i].Objects[(k+1)%len(cases[i].Objects)]; len(object) < 2<<10 && len(cases[i].CRD) < 8<<10 && seeds < most {
				f.Add(cases[i].CRD, object, old)
				seeds++
			}
		}
	}
	f.Add([]byte(storedCRD), widget("v1", `"name":"w","namespace":"n"`, `,"status":{}`).JSON, widget("v1beta1", `"name":"w","namespace":"n","finalizers":["a/b"],"deletionTimestamp":"2020-01-01T00:00:00Z"`, ``).JSON)
	f.Fuzz(func(t *testing.T, crd, object, old []byte) {
		ctx := context.Background()
		d, _, err := Compile(ctx, YAML(crd), Options{})
		if err != nil || d == nil {
			if d, err = compileStored(ctx, crd, Options{}); err != nil {
				return
			}
		}
		for _, v := range d.Versions() {
			r := admission.Request{Version: v.Name, Body: object, Handler: true, Whole: true}
			sameAdmit(t, d, r)
			r.CompleteMetadata, r.Namespace = true, "default"
			sameAdmit(t, d, r)
			r.FieldValidation = admission.Strict
			sameAdmit(t, d, r)
			r = admission.Request{Version: v.Name, Body: object, Old: old, Handler: true, Whole: true, CompleteMetadata: true}
			sameAdmit(t, d, r)
			r.Status = true
			sameAdmit(t, d, r)
		}
	})
}

// sameAdmit holds the two ways of Admit against each other, and its stages against the whole.
func sameAdmit(t *testing.T, d *Definition, r admission.Request) {
	t.Helper()
	r.WantObject, r.WantChanges = true, true
	whole := admitted(d, r)
	exact := r
	exact.Exact = true
	if got := admitted(d, exact); got.text() != whole.text() {
		t.Fatalf("%s, status %v:\nfast  %s\nexact %s", r.Version, r.Status, whole.text(), got.text())
	}
	r.Stage, exact.Stage = admission.StageDecode, admission.StageDecode
	decoded := admitted(d, r)
	if got := admitted(d, exact); got.text() != decoded.text() {
		t.Fatalf("%s, status %v, DECODE:\nfast  %s\nexact %s", r.Version, r.Status, decoded.text(), got.text())
	}
	if decoded.err != nil || decoded.out.Rejection != nil {
		if decoded.verdict() != whole.verdict() {
			t.Fatalf("%s, status %v:\nDECODE %s\nwhole %s", r.Version, r.Status, decoded.verdict(), whole.verdict())
		}
		return
	}
	r.Stage, exact.Stage = admission.StageFinish, admission.StageFinish
	r.Body, r.YAML = decoded.out.Object, false
	exact.Body, exact.YAML = r.Body, false
	finished := admitted(d, r)
	if finished.verdict() != whole.verdict() {
		t.Fatalf("%s, status %v, of %s:\nFINISH %s\nwhole  %s", r.Version, r.Status, r.Body, finished.verdict(), whole.verdict())
	}
	if got := admitted(d, exact); got.text() != finished.text() {
		t.Fatalf("%s, status %v, FINISH of %s:\nfast  %s\nexact %s", r.Version, r.Status, r.Body, finished.text(), got.text())
	}
}

// answer is what came of a request.
type answer struct {
	out admission.Outcome
	err error
}

func admitted(d *Definition, r admission.Request) answer {
	out, err := d.compiled.Inner.Admit(context.Background(), &r)
	return answer{out, err}
}

// verdict is the part of an answer that the stages have in common with the whole.
func (a answer) verdict() string {
	text := fmt.Sprintf("%v\n", a.err)
	if r := a.out.Rejection; r != nil {
		text += fmt.Sprintf("%d %s %s\n", r.Code, r.Reason, r.Message)
	}
	for _, v := range append(a.out.Violations, a.out.Ratcheted...) {
		text += fmt.Sprintf("%s %s\n", v.Error.Error(), v.Path.Pointer())
	}
	if a.err != nil || a.out.Rejection != nil {
		return text
	}
	return text + fmt.Sprintf("object %s\nstored %s\ndeletes %v\n", canonicalJSON(a.out.Object), canonicalJSON(a.out.Stored), a.out.Deletes)
}

// text is the whole answer.
func (a answer) text() string {
	text := a.verdict() + fmt.Sprintf("old %s\n%q\n%q\n", canonicalJSON(a.out.Old), strictTexts(a.out.Strict), warningLines(a.out.Warnings))
	for _, c := range append(a.out.Pruned, a.out.Defaulted...) {
		text += fmt.Sprintf("%s %s %s\n", c.Text, c.Path.Pointer(), canonicalJSON(c.Value))
	}
	for _, v := range a.out.Violations {
		text += fmt.Sprintf("%v\n", v.Position)
	}
	return text
}
