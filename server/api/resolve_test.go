package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// TestGuesses: an object is judged by the CRD it names, however much it looks like the one before it.
func TestGuesses(t *testing.T) {
	w := start(t, nil).withCronTab()
	plain := cronTab(`{}`)
	again := strings.TrimSuffix(plain, "}")
	items := []struct {
		object, want string
	}{
		{plain, "allowed"},
		{plain, "allowed"},
		{again + `,"kind":"CronTab"}`, "allowed"},
		{again + `,"kind":"Other"}`, "CRD_NOT_FOUND"},
		{again + `,"apiVersion":"other.example.com/v1"}`, "CRD_NOT_FOUND"},
		{again + `,"\u006bind":"Other"}`, "CRD_NOT_FOUND"},
		{again + `,"kind":null}`, "OBJECT_UNREADABLE"},
		{strings.Replace(plain, `"CronTab"`, `"Other"`, 1), "CRD_NOT_FOUND"},
		{plain, "allowed"},
		{again + `} x`, "OBJECT_UNREADABLE"},
		{cronTab(`7`), "rejected"},
		{plain, "allowed"},
	}
	r := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}}
	for _, i := range items {
		r.Items = append(r.Items, &crdevalv1.WriteItem{Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: jsonDocument(i.object)}}})
	}
	answer := func(r *crdevalv1.VerdictResult) string {
		switch {
		case r.GetError() != nil:
			return reason(t, status.FromProto(r.GetError()))
		case r.GetVerdict().GetAllowed():
			return "allowed"
		}
		return "rejected"
	}
	got, err := w.evaluation.Validate(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	for i, item := range items {
		if is := answer(got.GetResults()[i]); is != item.want {
			t.Errorf("item %d, %s: %s, want %s", i, item.object, is, item.want)
		}
		// Alone, with nothing to guess by, each gets the same answer.
		alone, err := w.evaluation.Validate(context.Background(), &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: r.Items[i : i+1]})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprint(alone.GetResults()[0]), fmt.Sprint(got.GetResults()[i]); a != b {
			t.Errorf("item %d, %s:\nalone  %s\nbeside %s", i, item.object, a, b)
		}
	}
}
