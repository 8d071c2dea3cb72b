package engine

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/casefile"
)

// FuzzPipeline: whatever the CRD and the object, nothing panics, and the fast way answers what the exact way answers.
func FuzzPipeline(f *testing.F) {
	if testing.Short() {
		f.Skip("its seeds are minutes under the race detector; make test and make fuzz run it")
	}
	cases, err := casefile.Load("conformance/testdata/cases")
	if err != nil {
		f.Fatal(err)
	}
	for i := range cases {
		if cases[i].Costly() {
			continue // seconds for each way of evaluation; TestCases has them
		}
		for _, object := range cases[i].Objects {
			f.Add(cases[i].CRD, object)
		}
	}
	f.Add([]byte(cronTabCRD), []byte(cronTab))
	f.Fuzz(func(t *testing.T, crd, object []byte) {
		ctx := context.Background()
		d, _, err := Compile(ctx, JSON(crd), Options{})
		if err != nil || d == nil {
			// Stored CRDs can be what registration rejects; evaluating them must be safe all the same.
			if d, err = compileStored(ctx, crd, Options{}); err != nil {
				return
			}
		} else if again, err := compileStored(ctx, d.Manifest(), Options{}); err != nil || again.Revision() != d.Revision() {
			t.Fatalf("the canonical manifest does not give the same definition: %v", err)
		}
		for _, v := range d.Versions() {
			for _, fv := range []admission.FieldValidation{admission.Warn, admission.Ignore, admission.Strict} {
				sameWays(t, d, admission.Request{Version: v.Name, Body: object, FieldValidation: fv, WantObject: true})
			}
			sameWays(t, d, admission.Request{Version: v.Name, Body: object, Handler: true, CompleteMetadata: true, Namespace: "default", WantObject: true})
		}
		for _, doc := range []Document{JSON(object), YAML(object)} {
			_, _ = d.Validate(ctx, Create{Object: doc}, ValidateOptions{AsGiven: true})
			_, _ = d.Prune(ctx, doc, TransformOptions{})
			_, _ = d.Default(ctx, doc, TransformOptions{})
			_, _ = d.Read(ctx, doc, ReadOptions{})
			_, _ = d.Convert(ctx, doc, d.StorageVersion(), TransformOptions{})
		}
	})
}

func sameWays(t *testing.T, d *Definition, r admission.Request) {
	t.Helper()
	r.WantChanges = true
	answer := func(exact bool) string {
		r.Exact = exact
		out, err := d.compiled.Inner.Write(context.Background(), &r)
		text := fmt.Sprintf("%v\n%+v\n%q\n%q\n%s\n", err, out.Rejection, strictTexts(out.Strict), warningLines(out.Warnings), canonicalJSON(out.Object))
		for _, c := range append(out.Pruned, out.Defaulted...) {
			text += fmt.Sprintf("%s %s %s\n", c.Text, c.Path.Pointer(), canonicalJSON(c.Value))
		}
		for _, v := range out.Violations {
			text += fmt.Sprintf("%s %s %v\n", v.Error.Error(), v.Path.Pointer(), v.Position)
		}
		return text
	}
	if fast, exact := answer(false), answer(true); !reflect.DeepEqual(fast, exact) {
		t.Fatalf("%s, %d:\nfast  %s\nexact %s", r.Version, r.FieldValidation, fast, exact)
	}
}
