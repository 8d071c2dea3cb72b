package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/server/conversion"
	"github.com/crdeval/crdeval/server/webhook"
)

// TestObserveConversions checks the metrics and the span of calls of conversion webhooks.
func TestObserveConversions(t *testing.T) {
	tel := newTelemetry(t)
	spans := tracetest.NewSpanRecorder()
	tel.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	observe := tel.ObserveConversions()
	call := conversion.Call{CRD: "crontabs.example.com", Host: "hook.example.com:443", APIVersion: "example.com/v1", Objects: 7}
	for outcome, err := range map[conversion.Outcome]error{conversion.Converted: nil, conversion.TimedOut: errors.New("too slow"),
		conversion.CircuitOpen: errors.New("not called")} {
		_, end := observe(t.Context(), call)
		end(outcome, err)
	}
	wantMetrics(t, tel, `crdeval_conversion_calls_total{host="hook.example.com:443",outcome="converted"} 1`,
		`crdeval_conversion_calls_total{host="hook.example.com:443",outcome="timeout"} 1`,
		`crdeval_conversion_calls_total{host="hook.example.com:443",outcome="circuit_open"} 1`,
		`crdeval_conversion_duration_seconds_count{host="hook.example.com:443"} 2`)
	for _, span := range spans.Ended() {
		text := fmt.Sprint(span.Attributes())
		for _, want := range []string{"crontabs.example.com", "hook.example.com:443", "example.com/v1", `{"crdeval.objects":7}`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
	}
	if n := len(spans.Ended()); n != 3 {
		t.Errorf("%d spans", n)
	}
}

// TestConversionHosts checks that hosts cannot become an unlimited number of time series.
func TestConversionHosts(t *testing.T) {
	tel := newTelemetry(t)
	observe := tel.ObserveConversions()
	for i := range 2*maxValues + 1 {
		host := fmt.Sprintf("host%d:443", i)
		if i == 0 {
			host = "" // forbidden
		}
		_, end := observe(t.Context(), conversion.Call{Host: host})
		end(conversion.Forbidden, nil)
	}
	text := grep(scrape(t, tel), "crdeval_conversion_calls_total{")
	if n := strings.Count(text, "\n"); n != maxValues+1 || !strings.Contains(text, fmt.Sprintf(`host="other",outcome="forbidden"} %d`, maxValues+1)) {
		t.Errorf("%d time series:\n%s", n, text)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestPropagate checks that a webhook receives the trace of a call, without the baggage of the caller.
func TestPropagate(t *testing.T) {
	tel := newTelemetry(t)
	tel.Tracer = sdktrace.NewTracerProvider()
	member, err := baggage.NewMember("user", "secret")
	if err != nil {
		t.Fatal(err)
	}
	with, err := baggage.New(member)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := tel.ObserveConversions()(baggage.ContextWithBaggage(t.Context(), with), conversion.Call{})
	defer end(conversion.Converted, nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://hook.example.com", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = tel.Propagate(roundTripper(func(sent *http.Request) (*http.Response, error) {
		if sent.Header.Get("Traceparent") == "" || len(sent.Header) != 1 {
			t.Errorf("%v", sent.Header)
		}
		return &http.Response{}, nil
	})).RoundTrip(r)
	if err != nil || len(r.Header) != 0 {
		t.Error(err, r.Header)
	}
}

// TestReviewedObjects checks the metric of objects by CRD. One warning a minute and CRD names the rule and the field.
func TestReviewedObjects(t *testing.T) {
	var log bytes.Buffer
	tel, err := New(t.Context(), "v1.2.3", slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tel.Close(context.Background()) }()
	synctest.Test(t, func(t *testing.T) {
		observe := tel.ObserveReviewedObjects()
		failed := &conversionwebhook.Error{CRD: "a.example.com", From: "v1", To: "v2", Rule: "rules[1] (values)", Path: "spec.mode"}
		see := func(crd string, failures int) {
			observe(t.Context(), webhook.Observation{Catalog: "c", CRD: crd, Objects: 10, Failed: failures,
				Reason: engine.ReasonConversionFailed, Conversion: failed})
		}
		for i := range 3 {
			see("a.example.com", 3)
			see("a.example.com", 1)
			see("b.example.com", 0)
			if i == 0 {
				time.Sleep(warningInterval - 1)
			} else {
				time.Sleep(time.Nanosecond)
			}
		}
		observe(t.Context(), webhook.Observation{Catalog: "c", Objects: 1, Failed: 1, Reason: "CRD_NOT_FOUND"})
		for i := range 2 * maxValues {
			see(fmt.Sprintf("c%d.example.com", i), 1)
		}
	})
	wantMetrics(t, tel, `crdeval_webhook_objects_total{crd="a.example.com",outcome="converted"} 48`,
		`crdeval_webhook_objects_total{crd="a.example.com",outcome="failed"} 12`,
		`crdeval_webhook_objects_total{crd="b.example.com",outcome="converted"} 30`,
		fmt.Sprintf(`crdeval_webhook_objects_total{crd="other",outcome="failed"} %d`, 1+maxValues+2))
	text := log.String()
	const about = `level=WARN msg="objects of a ConversionReview cannot be converted" catalog=c crd=a.example.com objects=10 failed=3 ` +
		`reason=CONVERSION_FAILED from=v1 to=v2 rule="rules[1] (values)" path=spec.mode`
	if n := strings.Count(text, about); n != 2 || strings.Contains(text, "b.example.com") {
		t.Errorf("%d warnings: %s", n, text)
	}
	if n := strings.Count(text, "\n"); n != 2+1+maxValues-2 {
		t.Errorf("%d lines", n)
	}
}
