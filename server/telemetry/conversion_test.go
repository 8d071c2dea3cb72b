package telemetry

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/crdeval/crdeval/server/conversion"
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
	for i := range 2*maxHosts + 1 {
		host := fmt.Sprintf("host%d:443", i)
		if i == 0 {
			host = "" // forbidden
		}
		_, end := observe(t.Context(), conversion.Call{Host: host})
		end(conversion.Forbidden, nil)
	}
	text := grep(scrape(t, tel), "crdeval_conversion_calls_total{")
	if n := strings.Count(text, "\n"); n != maxHosts+1 || !strings.Contains(text, fmt.Sprintf(`host="other",outcome="forbidden"} %d`, maxHosts+1)) {
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
