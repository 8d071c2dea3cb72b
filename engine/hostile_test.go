package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/internal/pattern"
	"github.com/crdeval/crdeval/engine/testenv"
)

// crdOf is the text of a CRD whose spec has a schema.
func crdOf(spec string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
"spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab","listKind":"CronTabList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":` + spec + `}}}}]}}`
}

func objectOf(spec string) string {
	return `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"my-cron","namespace":"default"},"spec":` + spec + `}`
}

func repeated(n int, f string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(f, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// hostile are pairs of a schema and an object that cost upstream, or a careless engine, minutes.
var hostile = []struct{ name, schema, object string }{
	{"ten thousand wrong items", `{"type":"array","items":{"type":"integer"}}`, `[` + repeated(9_990, `"x%d"`) + `]`},
	{"very many wrong items", `{"type":"array","items":{"type":"integer"}}`, `[` + repeated(200_000, `"x%d"`) + `]`},
	{"very many required names", `{"type":"object","required":[` + repeated(200_000, `"n%d"`) + `]}`, `{}`},
	{"very many branches", `{"type":"array","items":{"type":"string","anyOf":[` + repeated(999, `{"pattern":"^x%d(a|b)*$"}`) + `]}}`, `[` + repeated(1_000, `"aaaa%d"`) + `]`},
	{"a long enum, often missed", `{"type":"array","items":{"type":"string","enum":[` + repeated(50_000, `"e%d"`) + `]}}`, `[` + repeated(50_000, `"x%d"`) + `]`},
	{"a list that repeats itself", `{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"}}}}`,
		`[` + repeated(40_000, `{"k":"a%d"},{"k":"a%d"}`) + `]`},
	{"large items out of an enum", `{"type":"array","items":{"type":"object","x-kubernetes-preserve-unknown-fields":true,"enum":[{"a":1}]}}`,
		`[` + repeated(100, `{"k":"`+strings.Repeat("a", 20_000)+`"}`) + `]`},
	{"very large patterns", `{"type":"object","properties":{` + repeated(700, `"p%d":{"type":"string","pattern":"^((a%d){1,30}){1,33}$"}`) + `}}`,
		`{` + repeated(700, `"p%d":"a%d"`) + `}`},
}

// TestDeadlines: whatever is asked, a deadline ends it.
func TestDeadlines(t *testing.T) {
	slow(t)
	const allowed = 50 * time.Millisecond
	for _, c := range hostile {
		d := mustCompile(t, crdOf(c.schema))
		for _, document := range []Document{JSON([]byte(objectOf(c.object)))} {
			ctx, cancel := context.WithTimeout(context.Background(), allowed)
			start := testenv.CPUTime()
			_, err := d.Validate(ctx, Create{Object: document}, ValidateOptions{})
			took := testenv.CPUTime() - start
			cancel()
			t.Logf("%s: %v after %v: %v", c.name, ReasonOf(err), took.Round(time.Millisecond), err)
			if took > 3*time.Second { // a few milliseconds more than allowed on an idle machine
				t.Errorf("%s: took %v with %v allowed", c.name, took, allowed)
			}
		}
	}
}

// TestWithoutDeadlines: without one it ends as well, with a verdict or with the limit that it exceeds.
func TestWithoutDeadlines(t *testing.T) {
	slow(t)
	for _, c := range hostile {
		d := mustCompile(t, crdOf(c.schema))
		start := testenv.CPUTime()
		v, err := d.Validate(context.Background(), Create{Object: JSON([]byte(objectOf(c.object)))}, ValidateOptions{})
		took := testenv.CPUTime() - start
		if v != nil {
			t.Logf("%s: %d violations after %v", c.name, len(v.Violations), took.Round(time.Millisecond))
		} else {
			t.Logf("%s: %v after %v: %v", c.name, ReasonOf(err), took.Round(time.Millisecond), err)
		}
		if took > 30*time.Second || err != nil && ReasonOf(err) != ReasonLimitExceeded {
			t.Errorf("%s: took %v: %v", c.name, took, err)
		}
		var limit *Error
		if errors.As(err, &limit) && (limit.Limit == 0 || limit.Actual <= limit.Limit) {
			t.Errorf("%s: limit %d, actual %d", c.name, limit.Limit, limit.Actual)
		}
	}
}

// TestPatternsOfOneCRD: an object that touches very many large patterns leaves no more than the bound behind.
func TestPatternsOfOneCRD(t *testing.T) {
	testenv.SingleGoroutine(t)
	c := hostile[len(hostile)-1]
	d := mustCompile(t, crdOf(c.schema))
	before := liveHeap()
	if v, err := d.Validate(context.Background(), Create{Object: JSON([]byte(objectOf(c.object)))}, ValidateOptions{}); err != nil || !v.Allowed {
		t.Fatal(v, err)
	}
	grown := liveHeap() - before
	t.Logf("%d KiB more on the heap", grown>>10)
	if grown > pattern.MaxBytes*3/2 {
		t.Errorf("%d MiB more on the heap, the bound is %d MiB", grown>>20, pattern.MaxBytes>>20)
	}
	runtime.KeepAlive(d)
}

// slow leaves a test about time out of short runs, which are those under the race detector.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("times mean nothing under the race detector")
	}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestHostileManifests: a CRD with very many defects, or with more of something than can be compiled, is answered soon.
func TestHostileManifests(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, c := range []struct {
		name, schema string
		reason       Reason
		violations   int
		limit        int64
	}{
		{"many bad properties", `{"type":"object","properties":{` + repeated(5_000, `"p%d":{"type":"x"}`) + `}}`, "", 5_000, 0},
		{"very many bad properties", `{"type":"object","properties":{` + repeated(65_000, `"p%d":{"type":"x"}`) + `}}`, ReasonLimitExceeded, 0, 10_000},
		{"bad properties, three deep", `{"type":"object","properties":{` + repeated(50, `"a%d":{"type":"object","properties":{`+repeated(100, `"b%d":{"type":"x"}`)+`}}`) + `}}`, "", 5_000, 0},
		{"too many properties", `{"type":"object","properties":{` + repeated(65_535, `"p%d":{"type":"string"}`) + `}}`, ReasonLimitExceeded, 0, 65_534},
		{"as many as there may be", `{"type":"object","properties":{` + repeated(65_534, `"p%d":{"type":"string"}`) + `}}`, "", 0, 0},
		{"an oversize pattern", `{"type":"string","pattern":"^(` + strings.Repeat("ab", 2_000) + `){1,1000}$"}`, ReasonLimitExceeded, 0, 4 << 20},
		{"a default with very many defects", `{"type":"array","items":{"type":"integer"},"default":[` + repeated(100_000, `"x%d"`) + `]}`, ReasonLimitExceeded, 0, 10_000},
	} {
		start := testenv.CPUTime()
		_, report, err := Compile(context.Background(), JSON([]byte(crdOf(c.schema))), Options{})
		took := testenv.CPUTime() - start
		t.Logf("%s: after %v: %v", c.name, took.Round(time.Millisecond), err)
		if took > 10*time.Second {
			t.Errorf("%s: took %v", c.name, took)
		}
		var e *Error
		if errors.As(err, &e); ReasonOf(err) != c.reason || c.reason != "" && e.Limit != c.limit {
			t.Errorf("%s: %+v", c.name, err)
		}
		if c.reason != "" {
			continue
		}
		if report == nil || len(report.Violations) < c.violations || report.Accepted != (c.violations == 0) {
			t.Errorf("%s: not reported as it should be", c.name)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		start = testenv.CPUTime()
		_, err = Check(ctx, JSON([]byte(crdOf(c.schema))), Options{})
		cancel()
		t.Logf("%s: with a deadline after %v: %v", c.name, (testenv.CPUTime() - start).Round(time.Millisecond), err)
	}
}

// TestPositionsOfMetadata: violations about labels and annotations, whose fields name the map, have the member's position.
// Two labels with one bad value make one violation.
func TestPositionsOfMetadata(t *testing.T) {
	d := mustCompile(t, cronTabCRD)
	object := `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default",
  "labels":{
    "ok":"fine",
    "bad key":"fine",
    "a":"bad value",
    "b":"bad value"},
  "annotations":{
    "also bad":"anything"}},
"spec":{"cronSpec":"* * * * *"}}`
	v, err := d.Validate(context.Background(), Create{Object: JSON([]byte(object))}, ValidateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, f := range v.Violations {
		if f.Field != "metadata.labels" && f.Field != "metadata.annotations" || f.Position == nil {
			t.Errorf("%+v", f)
			continue
		}
		got[f.Pointer] = f.Position.Line
	}
	want := map[string]int{"/metadata/labels/bad key": 4, "/metadata/labels/a": 5, "/metadata/annotations/also bad": 8}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestHostileMetadata: metadata is judged by a library that knows no deadline.
func TestHostileMetadata(t *testing.T) {
	testenv.SingleGoroutine(t)
	d := mustCompile(t, cronTabCRD)
	for name, metadata := range map[string]string{
		"labels":                 `"labels":{` + repeated(150_000, `"bad %d":"x"`) + `}`,
		"values of labels":       `"labels":{` + repeated(120_000, `"k%d":"bad value"`) + `}`,
		"annotations":            `"annotations":{` + repeated(150_000, `"bad %d":"x"`) + `}`,
		"finalizers":             `"finalizers":[` + repeated(200_000, `"bad %d"`) + `]`,
		"owner references":       `"ownerReferences":[` + repeated(30_000, `{"apiVersion":"v1","kind":"Pod","name":"","uid":"u%d"}`) + `]`,
		"equal owner references": `"ownerReferences":[` + repeated(30_000, `{"apiVersion":"v1","kind":"Pod","name":"x","uid":"u"}`) + `]`,
		"managed fields":         `"managedFields":[` + repeated(50_000, `{"manager":"%d","operation":"X"}`) + `]`,
		"unknown fields":         repeated(200_000, `"f%d":1`),
	} {
		text := JSON([]byte(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x","namespace":"default",` + metadata + `},"spec":{"cronSpec":"* * * * *"}}`))
		start := testenv.CPUTime()
		v, err := d.Validate(context.Background(), Create{Object: text}, ValidateOptions{})
		took := testenv.CPUTime() - start
		allowed := v != nil && v.Allowed
		t.Logf("%s: %v allowed %v %v", name, took.Round(time.Millisecond), allowed, err)
		if took > 5*time.Second || err != nil && ReasonOf(err) != ReasonLimitExceeded {
			t.Errorf("%s: took %v: %v", name, took, err)
		}
	}
}
