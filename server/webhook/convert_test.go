package webhook_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/gateway"
	"github.com/crdeval/crdeval/server/webhook"
)

// tasks is a CRD that asks a webhook for conversions, and taskRules are its rules.
const tasks = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"tasks.example.com"},"spec":{
	"group":"example.com","scope":"Namespaced","names":{"plural":"tasks","kind":"Task"},
	"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":{"namespace":"default","name":"crdeval"}}}},
	"versions":[
		{"name":"v1beta1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"host":{"type":"string"},"mode":{"type":"string"}}}}}}},
		{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{
			"endpoint":{"type":"object","properties":{"host":{"type":"string"}}},"mode":{"type":"string","enum":["Fast","Slow"]}}}}}}}]}}`

const taskRules = `
crd: tasks.example.com
between: [v1beta1, v1]
rules:
- move: {from: spec.host, to: spec.endpoint.host}
- values: {path: spec.mode, map: {fast: Fast, slow: Slow}}
`

// task is a Task of v1beta1, taskV1 one of v1.
func task(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{"name":%q,"namespace":"default"},"spec":{%s}}`, name, spec)
}

func taskV1(name, spec string) string { return strings.Replace(task(name, spec), "v1beta1", "v1", 1) }

// conversion is a ConversionReview of v1 to v1 of Tasks.
func conversion(objects ...string) string {
	return `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1","desiredAPIVersion":"example.com/v1","objects":[` +
		strings.Join(objects, ",") + `]}}`
}

// TestConversions: what is answered to ConversionReviews, as an API server takes it.
func TestConversions(t *testing.T) {
	s := serve(t, nil)
	long := strings.Repeat("x", 4<<20)
	var many, wanted []string
	for i := range 3000 {
		many = append(many, task(fmt.Sprint("t", i), fmt.Sprintf(`"host":"h%d","mode":"fast"`, i)))
		wanted = append(wanted, taskV1(fmt.Sprint("t", i), fmt.Sprintf(`"mode":"Fast","endpoint":{"host":"h%d"}`, i)))
	}
	broken := append(append([]string{}, many...), task("bad", `"mode":"Fast"`), task("worse", `"mode":"Fast"`))
	for _, c := range []struct {
		name, review string
		converted    []string
		message      string // of a failure
	}{
		{name: "an object", review: conversion(task("a", `"host":"h"`)), converted: []string{taskV1("a", `"endpoint":{"host":"h"}`)}},
		{name: "many", review: conversion(many...), converted: wanted},
		{name: "white space", review: strings.ReplaceAll(conversion(task("a", `"host":"h"`), task("b", ``)), ",", " ,\r\n\t"), converted: []string{taskV1("a", `"endpoint":{"host":"h"}`), taskV1("b", ``)}},
		{name: "at the desired version", review: conversion(taskV1("a", `"x":1.5`), task("b", ``)), converted: []string{taskV1("a", `"x":1.5`), taskV1("b", ``)}},
		{name: "backwards", review: strings.Replace(conversion(taskV1("a", `"mode":"Slow"`)), `"desiredAPIVersion":"example.com/v1"`, `"desiredAPIVersion":"example.com/v1beta1"`, 1), converted: []string{task("a", `"mode":"slow"`)}},
		{name: "no objects", review: conversion()},
		{name: "null", review: strings.Replace(conversion(), `[]`, `null`, 1)},
		{name: "no list", review: strings.Replace(conversion(), `,"objects":[]`, ``, 1)},
		{name: "objects first", review: `{"request":{"objects":[` + task("a", ``) + `],"desiredAPIVersion":"example.com/v1","uid":"u-1"},"response":null,"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, converted: []string{taskV1("a", ``)}},
		{name: "keys twice", review: conversion(`{"apiVersion":"example.com/v1beta1","kind":"Task","spec":1,"metadata":{},"spec":{"host":"a","host":"b"}}`), converted: []string{`{"apiVersion":"example.com/v1","kind":"Task","metadata":{},"spec":{"endpoint":{"host":"b"}}}`}},

		{name: "a value", review: conversion(task("a", ``), task("bad", `"mode":"Fast"`)), message: `Task default/bad: from v1beta1 to v1: rules[1] (values): spec.mode: "Fast" `},
		{name: "several values", review: conversion(task("bad", `"mode":"Fast"`), task("a", ``), task("worse", `"mode":"Slow"`)), message: ` (another object fails, too)`},
		{name: "values in many", review: conversion(append(broken, task("c", `"mode":"Fast"`))...), message: ` (2 other objects fail, too)`},
		{name: "not an object", review: conversion(task("a", ``), `7`), message: `objects[1]: `},
		{name: "nothing", review: conversion(`null`), message: `objects[0]`},
		{name: "no JSON", review: conversion(`{"apiVersion":"example.com/v1beta1","kind":"Task","metadata":{},"spec":tru}`), message: `objects[0]: `},
		{name: "no UTF-8", review: conversion(strings.Replace(task("a", ""), `"a"`, "\"\xff\"", 1)), converted: []string{taskV1("\ufffd", "")}},
		{name: "a huge number", review: conversion(task("a", `"host":1e400`)), message: `objects[0]: `},
		{name: "a deep object", review: conversion(task("a", `"host":`+strings.Repeat(`[`, 20000)+strings.Repeat(`]`, 20000))), message: `objects[0]: `},
		{name: "a large object", review: conversion(task("a", `"host":"`+long+`"`)), message: `max_document_bytes`},
		{name: "no kind", review: conversion(`{"apiVersion":"example.com/v1beta1","metadata":{}}`), message: `objects[0] has the apiVersion "example.com/v1beta1" and the kind "": they are not of a custom resource`},
		{name: "of the core group", review: conversion(`{"apiVersion":"v1","kind":"Pod"}`), message: `objects[0] has the apiVersion "v1" and the kind "Pod"`},
		{name: "two kinds", review: conversion(task("a", ``), strings.Replace(task("b", ``), `Task`, `Job`, 1)), message: `objects[1]: the kind "Job" of the object is not that of tasks.example.com`},
		{name: "two groups", review: conversion(task("a", ``), strings.Replace(task("b", ``), `example.com`, `example.org`, 1)), message: `objects[1]: the apiVersion "example.org/v1beta1" of the object is not one of tasks.example.com`},
		{name: "an unknown version", review: conversion(task("a", ``), strings.Replace(task("b", ``), `v1beta1`, `v9`, 1)), message: `objects[1]: the apiVersion "example.com/v9"`},
		{name: "to an unknown version", review: strings.Replace(conversion(task("a", ``)), `"example.com/v1"`, `"example.com/v7"`, 1), message: `the desiredAPIVersion is "example.com/v7", and tasks.example.com has the group example.com and the versions v1, v1beta1`},
		{name: "to another group", review: strings.Replace(conversion(task("a", ``)), `"example.com/v1"`, `"v1"`, 1), message: `the desiredAPIVersion is "v1"`},
		{name: "no CRD", review: strings.ReplaceAll(conversion(task("a", ``)), `Task`, `Job`), message: `catalog "default" has no CRD for kind "Job" of group "example.com"`},
		{name: "no CRD for a long kind", review: conversion(`{"apiVersion":"example.com/v1beta1","kind":"` + long[:2<<20] + `","metadata":{}}`), message: `catalog "default" has no CRD for kind "xxx`},
		{name: "no rules", review: conversion(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a"}}`), message: `crontabs.stable.example.com has no conversion rules: set them with SetConversion, or in a file of --crds`},
	} {
		for _, version := range []string{"v1", "v1beta1"} {
			t.Run(c.name+" "+version, func(t *testing.T) {
				review := strings.Replace(c.review, "k8s.io/v1", "k8s.io/"+version, 1)
				code, header, text := s.post(t, "/webhooks/catalogs/default/convert?timeout=1h", review)
				if code != http.StatusOK {
					t.Fatalf("HTTP %d: %s", code, text)
				}
				var answer apiextensionsv1.ConversionReview
				if err := json.Unmarshal(text, &answer); err != nil {
					t.Fatal(err)
				}
				got := answer.Response
				if got == nil || got.UID != "u-1" || answer.APIVersion != "apiextensions.k8s.io/"+version || answer.Kind != "ConversionReview" ||
					header.Get("Content-Type") != "application/json" || header.Get("Content-Length") != fmt.Sprint(len(text)) {
					t.Fatalf("%v: %.1000s", header, text)
				}
				status, outcome := metav1.StatusSuccess, "convert success"
				if c.message != "" {
					status, outcome = metav1.StatusFailure, "convert failure"
				}
				if got.Result.Status != status || !strings.Contains(got.Result.Message, c.message) || len(got.Result.Message) > 4000 {
					t.Errorf("%s, want %q", got.Result.String(), c.message)
				}
				if reported := s.reported(t); reported != outcome {
					t.Errorf("%q is reported", reported)
				}
				if len(got.ConvertedObjects) != len(c.converted) {
					t.Fatalf("%d objects: %.1000s", len(got.ConvertedObjects), text)
				}
				for i, want := range c.converted {
					if o := strings.Join(strings.Fields(string(got.ConvertedObjects[i].Raw)), ""); o != want {
						t.Errorf("objects[%d]: %s\nwant %s", i, o, want)
					}
				}
			})
		}
	}
}

// TestObservedConversions checks what is observed of answered ConversionReviews.
func TestObservedConversions(t *testing.T) {
	s := serve(t, nil)
	bad := task("bad", `"mode":"Fast"`)
	for name, c := range map[string]struct {
		review string
		want   webhook.Observation
		rule   string
	}{
		"converted": {conversion(task("a", ``), task("b", ``)), webhook.Observation{CRD: "tasks.example.com", Objects: 2}, ""},
		"values": {conversion(task("a", ``), bad, bad), webhook.Observation{
			CRD: "tasks.example.com", Objects: 3, Failed: 2, Reason: engine.ReasonConversionFailed}, "rules[1] (values) spec.mode v1beta1 v1"},
		"a number": {conversion(task("a", ``), `7`), webhook.Observation{
			CRD: "tasks.example.com", Objects: 2, Failed: 1, Reason: engine.ReasonVersionNotFound}, ""},
		"no CRD": {strings.ReplaceAll(conversion(task("a", ``)), `Task`, `Job`), webhook.Observation{
			Objects: 1, Failed: 1, Reason: "CRD_NOT_FOUND"}, ""},
		"no rules": {conversion(`{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"a"}}`), webhook.Observation{
			CRD: "crontabs.stable.example.com", Objects: 1, Failed: 1, Reason: engine.ReasonConversionUnavailable}, ""},
	} {
		if code, _, text := s.post(t, "/webhooks/catalogs/default/convert", c.review); code != http.StatusOK {
			t.Fatalf("%s: HTTP %d: %s", name, code, text)
		}
		got, rule := <-s.observed, ""
		if e := got.Conversion; e != nil {
			rule = strings.Join([]string{e.Rule, e.Path, e.From, e.To}, " ")
		}
		got.Conversion, c.want.Catalog = nil, "default"
		if got != c.want || rule != c.rule {
			t.Errorf("%s: %+v %q, want %+v %q", name, got, rule, c.want, c.rule)
		}
	}
}

// TestNoConversion: what is answered to requests that are not ConversionReviews, or that cannot be answered.
func TestNoConversion(t *testing.T) {
	s := serve(t, func(o *gateway.Options) {
		o.MaxBodyBytes = 64 << 20
		memory := call.NewMemory(128 << 20) // a caller can hold 64 MiB
		o.Entry = entryWith(func(r *http.Request) error {
			call.Of(r.Context()).Lease = memory.Open("caller")
			return nil
		})
	})
	valid := conversion(task("a", ``))
	object := task("a", `"host":"`+strings.Repeat("x", 1<<20)+`"`)
	for _, c := range []struct {
		name, path, body string
		code             int
		cause            metav1.CauseType
		message          string
	}{
		{"no body", "", ``, 400, "MALFORMED_BODY", "the body is empty"},
		{"not JSON", "", `kind: ConversionReview`, 400, "MALFORMED_BODY", "a ConversionReview is expected"},
		{"truncated", "", valid[:len(valid)-4], 400, "MALFORMED_BODY", "(the body ends here)"},
		{"truncated in an object", "", valid[:len(valid)-20], 400, "MALFORMED_BODY", "(the body ends here)"},
		{"something after it", "", valid + `{}`, 400, "MALFORMED_BODY", "there is something after the value"},
		{"another version", "", strings.Replace(valid, "k8s.io/v1", "k8s.io/v2", 1), 400, "MALFORMED_BODY", `the body has apiVersion "apiextensions.k8s.io/v2" and kind "ConversionReview", but crdeval answers only ConversionReview of apiextensions.k8s.io/v1 and apiextensions.k8s.io/v1beta1: set conversionReviewVersions: ["v1"]`},
		{"another version with another request", "", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v2","request":7}`, 400, "MALFORMED_BODY", `k8s.io/v2`},
		{"another kind", "", review("CREATE", `{}`, ``), 400, "MALFORMED_BODY", `the body has apiVersion "admission.k8s.io/v1" and kind "AdmissionReview"`},
		{"no request", "", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`, 400, "MALFORMED_BODY", "has no request"},
		{"a null request", "", `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":null}`, 400, "MALFORMED_BODY", "the request of a ConversionReview is expected"},
		{"no uid", "", strings.Replace(valid, `"uid":"u-1",`, ``, 1), 400, "MALFORMED_BODY", "request.uid is empty"},
		{"a number as uid", "", strings.Replace(valid, `"u-1"`, `1`, 1), 400, "MALFORMED_BODY", "a string is expected"},
		{"no desired version", "", strings.Replace(valid, `"desiredAPIVersion":"example.com/v1",`, ``, 1), 400, "MALFORMED_BODY", "request.desiredAPIVersion is empty"},
		{"an object of objects", "", strings.Replace(conversion(), `[]`, `{}`, 1), 400, "MALFORMED_BODY", "a list of objects is expected"},
		{"a comma too many", "", conversion(task("a", ``), ``), 400, "MALFORMED_BODY", "a value is expected"},
		{"a misspelt field", "", strings.Replace(valid, `"request":{`, `"request":{"x":nul,`, 1), 400, "MALFORMED_BODY", "the value is not JSON"},
		{"too many objects", "", conversion(strings.Repeat(`0,`, 1<<20) + `0`), 413, "LIMIT_EXCEEDED", "max_review_objects"},
		{"another catalog", "/webhooks/catalogs/nowhere/convert", valid, 404, "CATALOG_NOT_FOUND", "nowhere"},
		{"no timeout", "/webhooks/catalogs/default/convert?timeout=soon", valid, 400, "INVALID_ARGUMENT", "timeout"},
		{"no time", "/webhooks/catalogs/default/convert?timeout=1ns", valid, 504, "DEADLINE", ""},
		{"no memory for the answer", "", conversion(strings.Repeat(object+",", 40) + object), 413, "LIMIT_EXCEEDED", "more memory than one caller"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := c.path
			if path == "" {
				path = "/webhooks/catalogs/default/convert"
			}
			code, _, text := s.post(t, path, c.body)
			var got metav1.Status
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			if code != c.code || got.Kind != "Status" || got.Status != metav1.StatusFailure || !strings.Contains(got.Message, c.message) ||
				got.Details == nil || len(got.Details.Causes) != 1 || got.Details.Causes[0].Type != c.cause {
				t.Errorf("HTTP %d: %s", code, text)
			}
			if outcome := s.reported(t); outcome != "convert error" {
				t.Errorf("%q", outcome)
			}
		})
	}
}
