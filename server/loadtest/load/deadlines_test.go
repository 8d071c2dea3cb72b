package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// deadlines: calls that cannot end in time are answered at their deadline. Over gRPC, frames show when the server
// answers: a gRPC client ends the call by itself.
func deadlines(l *load) {
	s := l.launch(launch{flags: []string{"--store=memory"}})
	pattern := "^[ab]*a" + strings.Repeat("[ab]{1000}", 10) + "x$"
	l.register(s, "default", schemaCRD("Regex", fmt.Sprintf(`{type: object, properties: {spec: {type: string, pattern: %q}}}`, pattern)))
	validate := &crdevalv1.ValidateRequest{Context: &crdevalv1.EvaluationContext{Catalog: "default"}, Items: []*crdevalv1.WriteItem{{
		Write: &crdevalv1.WriteItem_Create{Create: &crdevalv1.Create{Object: crdeval.Document(object("Regex", `"`+strings.Repeat("a", 58<<10)+`"`))}},
	}}}
	check := &crdevalv1.CheckCrdRequest{Catalog: "default", Manifest: crdeval.Document(heavyCRD("Heavy", 3500))}
	slow := func(when string) {
		l.lateness("evaluation of a slow object"+when, l.overGRPC(s, method("EvaluationService", "Validate"), validate))
		l.lateness("evaluation of a slow object over REST"+when, l.overREST(s, validate))
	}
	slow("")
	ctx, cancel := context.WithCancel(l.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- forever(ctx, 1, func(ctx context.Context) error {
			_, err := s.CheckCRD(ctx, heavyCRD("Heavy", 3500))
			return err
		})
	}()
	time.Sleep(200 * time.Millisecond)
	slow(" while a 40 KiB rule compiles")
	cancel()
	<-ended
	l.lateness("check of a 40 KiB rule", l.overGRPC(s, method("RegistryService", "CheckCrd"), check)) // compilations continue
}

// deadline is that of the calls of deadlines.
const deadline = 100 * time.Millisecond

// lateness makes calls one after the other, and measures how long after their deadlines the answers come.
func (l *load) lateness(what string, call func() (status string)) {
	l.Helper()
	late, statuses, early := &outcome{}, map[string]int{}, 0
	for range l.size(100, 10) {
		begin := time.Now()
		statuses[call()]++
		after := time.Since(begin) - deadline
		late.record(after, nil)
		if after < -deadline/2 {
			early++
		}
	}
	l.note("%s: answers after the deadline: p50 %v, p99 %v, max %v; status: %v", what,
		late.latency.quantile(0.5), late.latency.quantile(0.99), late.latency.max, statuses)
	l.atMost(what+": answer after its deadline (p99)", late.latency.quantile(0.99).Seconds()*1000, bound{20, 30_000}, " ms")
	l.atMost(what+": answers in half of the time", float64(early), bound{0, 0}, "")
}

// overGRPC returns a function that makes a call with the deadline and waits until the server ends its stream.
func (l *load) overGRPC(s *server, method string, request proto.Message) func() string {
	l.Helper()
	f, err := dialFrames(l.Context(), s.grpc, 65535)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = f.conn.Close() })
	return func() string {
		id, err := f.call(method, request, "grpc-timeout", fmt.Sprintf("%dm", deadline.Milliseconds()))
		if err != nil {
			l.Fatal(err)
		}
		a, err := f.wait(id)
		if err != nil {
			l.Fatal(err)
		}
		return a.status
	}
}

// overREST returns a function that makes a call with the deadline and reads the answer.
func (l *load) overREST(s *server, request *crdevalv1.ValidateRequest) func() string {
	l.Helper()
	body := fmt.Sprintf(`{"items": [{"create": {"object": %s}}]}`, request.GetItems()[0].GetCreate().GetObject().GetJson())
	return func() string {
		r, err := http.NewRequestWithContext(l.Context(), http.MethodPost, "http://"+s.http+"/v1/catalogs/default:validate", strings.NewReader(body))
		if err != nil {
			l.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Grpc-Timeout", fmt.Sprintf("%dm", deadline.Milliseconds()))
		response, err := s.web.Do(r)
		if err != nil {
			l.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return response.Status
	}
}
