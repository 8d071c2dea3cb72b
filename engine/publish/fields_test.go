package publish_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/internal/fixture"
	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
)

const selectableCRD = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},"spec":{"group":"stable.example.com",
	"scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList","shortNames":["ct"],"categories":["all"]},"versions":[
	{"name":"v1","served":true,"storage":true,"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.runs"}],
	 "subresources":{"status":{},"scale":{"specReplicasPath":".spec.runs","statusReplicasPath":".status.runs"}},
	 "schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string"},"runs":{"type":"integer"}}},
	  "status":{"type":"object","properties":{"runs":{"type":"integer"}}}}}}},
	{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
	{"name":"v1alpha1","served":false,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

func TestSelect(t *testing.T) {
	ctx, d := context.Background(), fixture.Compile(t, selectableCRD)
	const object = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"n","namespace":"ns"},"spec":{"color":"blue","runs":3}}`
	fields, err := publish.Select(ctx, d, "", engine.JSON([]byte(object)))
	if got := fmt.Sprint(fields, err); got != "[{metadata.name n} {metadata.namespace ns} {spec.color blue} {spec.runs 3}] <nil>" {
		t.Error(got)
	}
	if names, err := publish.SelectableFields(d, "v1beta1"); fmt.Sprint(names, err) != "[metadata.name metadata.namespace] <nil>" {
		t.Error(names, err)
	}
	if s, err := publish.ParseFieldSelector(d, "v1", "spec.color==blue,spec.runs!=4"); err != nil || !s.Matches(fields) || s.Empty() || s.String() != "spec.color=blue,spec.runs!=4" {
		t.Errorf("%v %v", s, err)
	}
	for _, c := range []struct {
		version, selector, object string
		want                      string
	}{
		{"v1", "spec.color=blue", object, "true"},
		{"v1", "spec.color!=blue", object, "false"},
		{"v1", "", `{`, "true"}, // the object is not read
		{"v1", "spec.color=blue", `{`, "OBJECT_UNREADABLE"},
		{"v1", "spec.color=blue", `[]`, "INVALID_ARGUMENT"},
		{"v1", "spec.color=blue", `{"apiVersion":"stable.example.com/v1","kind":"Other"}`, "INVALID_ARGUMENT"},
		{"v1", "spec.color=blue", `{"apiVersion":"stable.example.com/v1beta1","kind":"CronTab"}`, "INVALID_ARGUMENT"},
		{"v1", "spec.color=blue", `{"apiVersion":"stable.example.com/v3","kind":"CronTab"}`, "INVALID_ARGUMENT"},
		{"v1", "spec.size=1", object, "INVALID_ARGUMENT: 400 BadRequest field label not supported: spec.size"},
		{"v1beta1", "spec.color=blue", object, "INVALID_ARGUMENT: 400 BadRequest field label not supported: spec.color"},
		{"v1alpha1", "", object, "VERSION_NOT_SERVED"},
		{"v9", "", object, "VERSION_NOT_FOUND"},
		{"", "", object, "INVALID_ARGUMENT"},
		{"v1", strings.Repeat("x", 1<<20+1), object, "LIMIT_EXCEEDED"},
		{"v1", strings.Repeat(",", 10_000), object, "LIMIT_EXCEEDED"},
		{"v1", strings.Repeat(",", 10_000-1), object, "true"},
		{"v1", "\xff\xfe=1", object, "INVALID_ARGUMENT: 400 BadRequest field label not supported: \ufffd\ufffd"},
	} {
		matches, err := matchFields(ctx, d, c.version, c.selector, engine.JSON([]byte(c.object)))
		got := fmt.Sprint(matches)
		var e *engine.Error
		if errors.As(err, &e) {
			if got = string(e.Reason); e.Rejection != nil {
				got += fmt.Sprintf(": %d %s %s", e.Rejection.Code, e.Rejection.Reason, e.Rejection.Message)
			}
		}
		if got != c.want {
			t.Errorf("%.40q at %s: %s, want %s", c.selector, c.version, got, c.want)
		}
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := publish.Select(ended, d, "v1", engine.JSON([]byte(object))); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Error(err)
	}
	if _, err := publish.Select(ctx, d, "v1", engine.Document{}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
	if _, err := publish.Select(ctx, d, "v1", engine.Document{JSON: []byte("{}"), YAML: []byte("{}")}); engine.ReasonOf(err) != engine.ReasonInvalidArgument {
		t.Error(err)
	}
}

// matchFields reports whether a field selector selects an object.
func matchFields(ctx context.Context, d *engine.Definition, version, selector string, object engine.Document) (bool, error) {
	s, err := publish.ParseFieldSelector(d, version, selector)
	if err != nil || s.Empty() {
		return err == nil, err
	}
	fields, err := publish.Select(ctx, d, version, object)
	return err == nil && s.Matches(fields), err
}
