package sidecar_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/sidecar"
	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/kubeserver"
)

const (
	stored = `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","namespace":"b","resourceVersion":"5","uid":"u","generation":2},"spec":{"watts":2,"color":"blue"}}`
	scale  = `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a","namespace":"b"},"spec":{"replicas":5}}`
)

// TestParity compares the results of all methods with those of the engine in this process.
func TestParity(t *testing.T) {
	_, remote, _ := start(t, sidecar.Options{Catalog: "parity"})
	deleting := definition(t, 9)
	deleting.ResourceVersion, deleting.DeletionTimestamp = "11", &metav1.Time{Time: time.Unix(1e9, 0)}
	for _, c := range []struct { // in the order of their resourceVersions
		name string
		crd  *apiextensionsv1.CustomResourceDefinition
	}{{"current", definition(t, 9)}, {"deleted", deleting}} {
		t.Run(c.name, func(t *testing.T) {
			want := results(t, apiserver.InProcess{}, c.crd)
			got := results(t, remote, c.crd)
			for i := range want {
				if got[i] != want[i] {
					t.Errorf("sidecar: %.2000s\nin process: %.2000s", got[i], want[i])
				}
			}
		})
	}
}

// results returns the results of an Evaluator as texts.
func results(t *testing.T, e apiserver.Evaluator, crd *apiextensionsv1.CustomResourceDefinition) (list []string) {
	t.Helper()
	d, err := e.Compile(t.Context(), crd)
	check(t, err)
	add := func(name string, result any, err error) {
		text, failed := json.Marshal(result)
		check(t, failed)
		if own := (*engine.Error)(nil); errors.As(err, &own) && own.Rejection != nil {
			err = fmt.Errorf("%d %s %s", own.Rejection.Code, own.Rejection.Reason, own.Rejection.Message)
		} else if own != nil {
			err = fmt.Errorf("%s %d", own.Reason, own.Limit)
		}
		list = append(list, fmt.Sprintf("%s: %s, %v", name, text, err))
	}
	ctx := t.Context()
	verdict := func(name string, v *engine.Verdict, more any, err error) {
		if v == nil {
			v = &engine.Verdict{}
		}
		add(name, []any{v.Allowed, v.Rejection, string(v.Status), v.Warnings, string(v.Object), more}, err)
	}
	for _, validation := range []engine.FieldValidation{engine.FieldValidationIgnore, engine.FieldValidationWarn} {
		o := kubeserver.WriteOptions{FieldValidation: validation}
		for _, body := range []string{lamp("a", `{}`), lamp("a", `{"x":1,"watts":1,"watts":2}`), lamp("a", `{"watts":"x"}`), `{"apiVersion":`, lamp("a", "null"),
			`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":1}}`, lamp("a", `{"color":"`+strings.Repeat("x", 4<<20)+`"}`)} {
			for format, document := range []engine.Document{engine.JSON([]byte(body)), engine.YAML([]byte(body))} {
				v, err := d.Body(ctx, "v1", document, o)
				verdict(fmt.Sprint(format, " body ", body[:min(len(body), 80)]), v.Verdict, v.StrictErrors, err)
				create := engine.Create{Version: "v1", Object: document}
				both, err := d.BodyAndValidate(ctx, create, o)
				verdict(fmt.Sprint(format, " body and validate ", body[:min(len(body), 80)]), both.Verdict, []any{
					both.StrictErrors, both.ValidateAccepts, both.ReadsAsWritten,
				}, err)
			}
		}
	}
	o := kubeserver.WriteOptions{WithStatus: true}
	update := strings.Replace(stored, `"watts":2`, `"watts":`, 1)
	for _, watts := range []string{"2", "3", "7", "10", `"x"`, "null"} {
		object := engine.JSON([]byte(strings.Replace(update, `"watts":`, `"watts":`+watts, 1)))
		v, err := d.Validate(ctx, engine.Create{Version: "v1", Namespace: "b", Object: object}, o)
		verdict("create "+watts, v.Verdict, v.ReadsAsWritten, err)
		for _, subresource := range []string{"", "status"} {
			v, err := d.Validate(ctx, engine.Update{
				Version: "v1", Namespace: "b", Name: "a", Object: object, Old: engine.JSON([]byte(stored)), OldDecoded: true, Subresource: subresource,
			}, o)
			verdict("update "+watts, v.Verdict, v.ReadsAsWritten, err)
		}
	}
	transformed := func(name string, out *engine.Transformed, err error) {
		if out == nil {
			out = &engine.Transformed{}
		}
		add(name, []any{string(out.Object), out.Changed, out.Warnings}, err)
	}
	for _, object := range []string{stored, strings.Replace(stored, `"watts":2`, `"watts":null,"x":1.0`, 1), strings.Replace(stored, `"watts":2`, `"watts":2.0`, 1),
		strings.Replace(stored, `"name":"a"`, `"name":1`, 1), strings.Replace(stored, "/v1", "/v1alpha1", 1), `{"apiVersion":`, `[]`} {
		for _, version := range []string{"v1", "v1beta1", "v1alpha1", "v9"} {
			out, err := d.Read(ctx, engine.JSON([]byte(object)), engine.ReadOptions{TargetVersion: version})
			transformed("read at "+version+" "+object, out, err)
			out, err = d.Convert(ctx, engine.JSON([]byte(object)), version, engine.TransformOptions{})
			transformed("convert to "+version+" "+object, out, err)
		}
		out, err := d.SetDefaults(ctx, engine.JSON([]byte(object)), engine.TransformOptions{})
		transformed("default "+object, out, err)
	}
	for _, object := range []string{stored, strings.Replace(stored, `"watts":2`, `"x":2`, 1), strings.Replace(stored, "/v1", "/v1beta1", 1)} {
		for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
			out, err := d.GetScale(ctx, version, engine.JSON([]byte(object)))
			add("scale of "+object, string(out), err)
			for _, s := range []string{scale, strings.Replace(scale, `"a"`, `"c"`, 1), strings.Replace(scale, "5", `"x"`, 1)} {
				out, err = d.SetScale(ctx, version, engine.JSON([]byte(object)), engine.JSON([]byte(s)))
				add("scaled "+object+" "+s, string(out), err)
			}
		}
	}
	remaining := int64(3)
	for _, count := range []int{0, 2, 2500} {
		objects := make([]engine.Document, count)
		for i := range objects {
			objects[i] = engine.JSON([]byte(strings.Replace(stored, `"a"`, fmt.Sprintf(`"a%d"`, i), 1)))
		}
		table, err := d.PrintTable(ctx, "v1", objects, publish.TableOptions{ResourceVersion: "9", Continue: "c", RemainingItemCount: &remaining})
		add("table", table, err)
		table, err = d.PrintTable(ctx, "v1beta1", objects, publish.TableOptions{NoHeaders: true})
		add("table", table, err)
	}
	_, err = d.PrintTable(ctx, "v1", []engine.Document{engine.JSON([]byte(`{}`))}, publish.TableOptions{})
	if err == nil {
		t.Error("a table of an object without a kind")
	}
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		m, err := d.FieldManagement(version)
		names, err2 := d.SelectableFields(version)
		add("selectable fields", names, err2)
		fields, err2 := d.Select(ctx, version, engine.JSON([]byte(strings.Replace(stored, "/v1", "/"+version, 1))))
		add("selected fields", fields, err2)
		add("field management", []any{m.APIVersion, m.ReplicasPaths, fmt.Sprint(m.Mappings()), fmt.Sprint(m.Sets("")), fmt.Sprint(m.Sets("status"))}, err)
	}
	models, err := d.Models(ctx)
	add("models", string(models), err)
	return list
}

// watts returns the error of the verdict on a new object.
func watts(t *testing.T, d apiserver.Definition, n int) (rejected bool, err error) {
	t.Helper()
	object := fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a","namespace":"b","generation":1},"spec":{"watts":%d}}`, n)
	v, err := d.Validate(t.Context(), engine.Create{Version: "v1", Object: engine.JSON([]byte(object))}, kubeserver.WriteOptions{})
	if err != nil {
		return false, err
	}
	return v.Rejection != nil, nil
}

// TestRevisions: a Definition evaluates by the CRD that it was compiled from, and by no other.
func TestRevisions(t *testing.T) {
	server, e, c := start(t, sidecar.Options{})
	compile := func(maximum int, version string) (apiserver.Definition, error) {
		crd := definition(t, maximum)
		crd.ResourceVersion = version
		return e.Compile(t.Context(), crd)
	}
	old, err := compile(9, "10")
	check(t, err)
	latest, err := compile(5, "20")
	check(t, err)
	expect := func(name string, d apiserver.Definition, n int, want bool) {
		t.Helper()
		if rejected, err := watts(t, d, n); err != nil || rejected != want {
			t.Errorf("%s: rejected %v, %v, want %v", name, rejected, err, want)
		}
	}
	expect("the old CRD", old, 8, false)
	expect("the new CRD", latest, 8, true)
	if _, err := compile(9, "15"); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "has changed since the request began") {
		t.Errorf("an older CRD: %v", err)
	}
	check(t, server.Kill())
	check(t, server.Start())
	reachable(t, e)
	expect("the new CRD after a restart", latest, 8, true)
	if _, err := watts(t, old, 8); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), "has changed since the request began") {
		t.Errorf("the old CRD after a restart: %v", err)
	}
	check(t, server.Kill())
	check(t, server.Start())
	reachable(t, e)
	expect("the old CRD after another restart", old, 8, false)
	expect("the new CRD after another restart", latest, 8, true)
	same, err := compile(5, "30") // with another status only
	check(t, err)
	check(t, server.Kill())
	check(t, server.Start())
	reachable(t, e)
	expect("the newest CRD", same, 8, true)
	before := c.of("GetCrd")
	expect("the same CRD with an older status", latest, 8, true)
	if c.of("GetCrd") != before {
		t.Error("looked for the revision before it was missing")
	}
	check(t, server.Kill())
	check(t, server.Start())
	reachable(t, e)
	c.failing(func(method string) error { // another API server has registered the CRD with the newer status first
		if method == "RegisterCrd" {
			c.failing(nil)
			expect("the newest CRD, first", same, 8, true)
		}
		return nil
	})
	expect("the same CRD with an older status, second", latest, 8, true)
	if c.of("GetCrd") != before+1 {
		t.Error("did not look for the revision")
	}
}

// reachable waits until an Evaluator is connected.
func reachable(t *testing.T, e *sidecar.Evaluator) {
	t.Helper()
	w := &world{T: t, evaluator: e}
	w.awaitConnection()
}

// failure returns the error of a server.
func failure(code codes.Code, reason string, details ...protoadapt.MessageV1) error {
	info := &errdetails.ErrorInfo{Reason: reason, Domain: "crdeval.dev", Metadata: map[string]string{"maximum": "3", "actual": "4"}}
	st, err := status.New(code, "why").WithDetails(append([]protoadapt.MessageV1{info}, details...)...)
	if err != nil {
		panic(err)
	}
	return st.Err()
}

// withoutStreams makes a client send unary calls.
func withoutStreams(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unavailable, "no streams in this test")
}

// TestErrors: which errors of a server are outages, and how the others reach the API server.
func TestErrors(t *testing.T) {
	_, e, c := start(t, sidecar.Options{Client: []crdeval.Option{crdeval.WithDialOptions(grpc.WithStreamInterceptor(withoutStreams))}})
	d, err := e.Compile(t.Context(), definition(t, 9))
	check(t, err)
	for _, test := range []struct {
		name   string
		err    error
		outage string // the text of 503
		retry  int32
		reason engine.Reason // of another error
	}{
		{"overloaded", failure(codes.Unavailable, "OVERLOADED", &errdetails.RetryInfo{RetryDelay: durationpb.New(2500 * time.Millisecond)}), "is overloaded: why", 3, ""},
		{"no store", failure(codes.Unavailable, "STORE_UNAVAILABLE"), "cannot evaluate: why", 1, ""},
		{"late replica", failure(codes.Unavailable, "REPLICA_BEHIND"), "cannot evaluate: why", 1, ""},
		{"lost again", failure(codes.NotFound, "CRD_NOT_FOUND"), "cannot evaluate: why", 1, ""},
		{"not connected", status.Error(codes.Unavailable, "why"), "cannot be reached: why", 1, ""},
		{"no response", status.Error(codes.DeadlineExceeded, "why"), "cannot be reached: no response within 2s", 1, ""},
		{"large", failure(codes.ResourceExhausted, "LIMIT_EXCEEDED"), "", 0, engine.ReasonLimitExceeded},
		{"slow", failure(codes.DeadlineExceeded, "ITEM_DEADLINE"), "", 0, engine.ReasonItemDeadline},
		{"no conversion", failure(codes.Unavailable, "CONVERSION_UNAVAILABLE"), "", 0, engine.ReasonConversionUnavailable},
		{"no token", failure(codes.Unauthenticated, "UNAUTHENTICATED"), "", 0, "UNAUTHENTICATED"},
		{"defect", failure(codes.Internal, "INTERNAL"), "", 0, engine.ReasonInternal},
	} {
		before, _, _ := e.Outages()
		c.failing(func(method string) error {
			if method == "ValidateDecoded" {
				return test.err
			}
			return nil
		})
		_, err := watts(t, d, 1)
		c.failing(nil)
		count, ongoing, last := e.Outages()
		if test.outage == "" {
			if engine.ReasonOf(err) != test.reason || count != before {
				t.Errorf("%s: %v, %d outages", test.name, err, count-before)
			}
			continue
		}
		seconds, ok := apierrors.SuggestsClientDelay(err)
		if !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), test.outage) || !ok || int32(seconds) != test.retry || count != before+1 || last.Error() != err.Error() || !ongoing {
			t.Errorf("%s: %v, retry after %d, %d outages, ongoing %v", test.name, err, seconds, count-before, ongoing)
		}
		if _, err := watts(t, d, 1); err != nil {
			t.Error(err)
		}
		if _, ongoing, _ := e.Outages(); ongoing {
			t.Errorf("%s: an outage after a successful call", test.name)
		}
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := d.Read(ended, engine.JSON([]byte(stored)), engine.ReadOptions{}); engine.ReasonOf(err) != engine.ReasonItemDeadline {
		t.Errorf("a request that has ended: %v", err)
	}
}

// TestSharedStreams: calls for one object share streams, except for a CRD with a conversion webhook. Interceptors see unary
// calls only.
func TestSharedStreams(t *testing.T) {
	_, remote, c := start(t, sidecar.Options{})
	converted := definition(t, 9)
	url := "https://localhost:1/convert"
	converted.ResourceVersion = "11"
	converted.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url}, ConversionReviewVersions: []string{"v1"},
		},
	}
	for _, test := range []struct {
		crd   *apiextensionsv1.CustomResourceDefinition
		unary int
	}{{definition(t, 9), 0}, {converted, 1}} {
		d, err := remote.Compile(t.Context(), test.crd)
		check(t, err)
		object := engine.JSON([]byte(stored))
		_, err = d.Body(t.Context(), "v1", object, kubeserver.WriteOptions{})
		check(t, err)
		_, err = d.Read(t.Context(), object, engine.ReadOptions{TargetVersion: "v1"})
		check(t, err)
		if bodies, reads := c.of("DecodeBody"), c.of("Read"); bodies != test.unary || reads != test.unary {
			t.Errorf("%d unary calls of DecodeBody, %d of Read, want %d of each", bodies, reads, test.unary)
		}
	}
}
