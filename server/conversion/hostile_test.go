package conversion

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/server/internal/testcert"
)

// certificate returns a certificate for 127.0.0.1 and its CA.
func certificate(t *testing.T, validFor time.Duration) (tls.Certificate, []byte) {
	t.Helper()
	ca := testcert.New(t)
	return ca.Pair(t, "webhook", validFor), ca.PEM
}

// listen starts a TCP server that calls serve with each connection, which it closes afterwards. It returns its address.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = c.Close() }()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// raw starts a TLS server that reads the head of a request and calls respond.
func raw(t *testing.T, config *tls.Config, respond func(io.ReadWriter)) *apiextensionsv1.WebhookConversion {
	t.Helper()
	own, ca := certificate(t, time.Hour)
	if config == nil {
		config = &tls.Config{}
	}
	if config.Certificates == nil {
		config.Certificates = []tls.Certificate{own}
	}
	url := "https://" + listen(t, func(c net.Conn) {
		s := tls.Server(c, config)
		if s.Handshake() != nil {
			return
		}
		if _, err := http.ReadRequest(bufio.NewReader(s)); err == nil {
			respond(s)
		}
	}) + "/convert"
	return &apiextensionsv1.WebhookConversion{
		ConversionReviewVersions: []string{"v1"},
		ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: ca},
	}
}

// say returns a response of fixed text.
func say(text string) func(io.ReadWriter) {
	return func(c io.ReadWriter) { _, _ = io.WriteString(c, text) }
}

// repeat returns a response that never ends.
func repeat(start, text string) func(io.ReadWriter) {
	return func(c io.ReadWriter) {
		_, err := io.WriteString(c, start)
		for err == nil {
			_, err = io.WriteString(c, text)
		}
	}
}

// wait waits for the end of a connection.
func wait(c io.ReadWriter) { _, _ = io.Copy(io.Discard, c) }

const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

// compressed returns a large JSON text in a small response.
func compressed(text string, times int) func(io.ReadWriter) {
	var b strings.Builder
	z := gzip.NewWriter(&b)
	for range times {
		_, _ = io.WriteString(z, text)
	}
	_ = z.Close()
	return say(fmt.Sprintf("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", head, b.Len(), b.String()))
}

// whole returns a response with a body.
func whole(body string) func(io.ReadWriter) {
	return say(fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
}

// inReview returns a ConversionReview with the fields of a response.
func inReview(response string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{` + response + `}}`
}

// TestHostileWebhooks checks that each hostile webhook causes an error and an outcome, within the timeout and the limits.
func TestHostileWebhooks(t *testing.T) {
	const short, long = 300 * time.Millisecond, time.Minute // short: only for those that never answer
	expired, ca := certificate(t, -time.Hour)
	signed, _ := certificate(t, time.Hour)
	silent := listen(t, func(c net.Conn) { wait(c) })
	at := func(url string, ca []byte) *apiextensionsv1.WebhookConversion {
		return &apiextensionsv1.WebhookConversion{ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{URL: &url, CABundle: ca}}
	}
	closed := listen(t, func(net.Conn) {})
	expiredHook := raw(t, &tls.Config{Certificates: []tls.Certificate{expired}}, wait)
	expiredHook.ClientConfig.CABundle = ca
	const memory = " to this request need more than 3145728 bytes of memory, the limit: send fewer objects, or smaller ones"
	const kilobyte = "012345678901234567890123456789012345678901234567890123456789012\n"
	for _, e := range []struct {
		name    string
		webhook *apiextensionsv1.WebhookConversion
		timeout time.Duration
		outcome Outcome
		want    string
	}{
		{"no answer", raw(t, nil, wait), short, TimedOut, ""},
		{"no TLS handshake", at("https://"+silent, ca), short, TimedOut, ""},
		{"no end of the headers", raw(t, nil, func(c io.ReadWriter) { say(head)(c); wait(c) }), short, TimedOut, ""},
		{"no end of the body", raw(t, nil, func(c io.ReadWriter) { say(head + "\r\n{")(c); wait(c) }), short, TimedOut, ""},
		{"byte by byte", raw(t, nil, func(c io.ReadWriter) {
			say(head + "\r\n")(c)
			for err := error(nil); err == nil; time.Sleep(time.Millisecond) {
				_, err = io.WriteString(c, " ")
			}
		}), short, TimedOut, ""},
		{"retry later", raw(t, nil, say("HTTP/1.1 429 Too Many\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")), short, TimedOut, ""},
		{"endless body", raw(t, nil, repeat(head+"\r\n{", kilobyte)), long, TooLarge, "the response is larger than 1048576 bytes, the limit"},
		{"endless headers", raw(t, nil, repeat(head, "A: "+kilobyte)), long, Unreachable, "server response headers exceeded 65536 bytes"},
		{"endless header", raw(t, nil, repeat(head+"A: ", "a")), long, Unreachable, "server response headers exceeded 65536 bytes"},
		{"endless continue", raw(t, nil, repeat("", "HTTP/1.1 100 Continue\r\n\r\n")), long, Unreachable, "server response headers exceeded 65536 bytes"},
		{"endless hints", raw(t, nil, repeat("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n")), long, Unreachable, "server response headers exceeded 65536 bytes"},
		{"endless trailers", raw(t, nil, repeat(head+"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n", "A: b\r\n")), long, Unreachable, "trailer"},
		{"endless empty chunks", raw(t, nil, repeat(head+"Transfer-Encoding: chunked\r\n\r\n", "1;"+strings.Repeat("x", 1000)+"\r\n \r\n")), long, Unreachable, "chunked encoding contains too much non-data"},
		{"compressed", raw(t, nil, compressed(kilobyte, 1<<17)), long, TooLarge, "the response is larger than 1048576 bytes, the limit"},
		{"not compressed", raw(t, nil, say(head+"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\n{")), long, Unreachable, "unexpected EOF"},
		{"closed", at("https://"+closed, ca), long, Unreachable, ""},
		{"closed after the request", raw(t, nil, say("")), long, Unreachable, "EOF"},
		{"closed in the body", raw(t, nil, say(head+"Content-Length: 100\r\n\r\n{")), long, Unreachable, "unexpected EOF"},
		{"no HTTP", raw(t, nil, say("hello\r\n\r\n")), long, Unreachable, "malformed HTTP"},
		{"no HTTP/1.1", raw(t, &tls.Config{NextProtos: []string{"x"}}, wait), long, Unreachable, "no application protocol"},
		{"HTTP/2", raw(t, nil, say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")), long, Unreachable, "malformed HTTP"},
		{"another protocol", raw(t, nil, say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n{}")), long, Invalid, "expected webhook response of"},
		{"expired certificate", expiredHook, long, Unreachable, "certificate has expired"},
		{"unknown authority", raw(t, &tls.Config{Certificates: []tls.Certificate{signed}}, wait), long, Unreachable, "unknown authority"},
		{"redirect", raw(t, nil, say("HTTP/1.1 307 Moved\r\nLocation: https://169.254.169.254/\r\nContent-Length: 0\r\n\r\n")), long, HTTPError, `redirects to "https://169.254.169.254/"`},
		{"client error", raw(t, nil, say("HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")), long, HTTPError, "could not find the requested resource"},
		{"server error", raw(t, nil, say("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n")), long, ServerError, "an error on the server"},
		{"nothing", raw(t, nil, whole("")), long, Invalid, "0-length response"},
		{"truncated JSON", raw(t, nil, whole(inReview(`"uid":`)[:80])), long, Invalid, "unexpected end of JSON input"},
		{"a Status", raw(t, nil, whole(`{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","code":418}`)), long, Invalid, "converting (v1.Status) to (v1.ConversionReview): unknown conversion"},
		{"deep objects", raw(t, nil, whole(inReview(`"convertedObjects":[`+strings.Repeat("[", 12_000)+strings.Repeat("]", 12_000)+`]`))), long, Invalid, "exceeded max depth"},
		{"many objects", raw(t, nil, whole(inReview(`"convertedObjects":[`+strings.Repeat("0,", 400_000)+`0]`))), long, TooLarge, memory},
		{"a dense object", raw(t, nil, whole(inReview(`"convertedObjects":[[`+strings.Repeat("0,", 400_000)+`0]]`))), long, TooLarge, memory},
		{"lists in lists", raw(t, nil, whole(inReview(`"convertedObjects":[[`+strings.Repeat("[[[]]],", 100_000)+`0]]`))), long, TooLarge, memory},
		{"YAML", raw(t, nil, whole("a: ["+strings.Repeat("00000000,", 8_000)+"0]")), long, TooLarge, "the response is not JSON and larger than 65536 bytes, the limit"},
		{"aliases", raw(t, nil, whole("a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"+
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n")), long, Invalid, "excessive aliasing"},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			var outcome Outcome
			c := local(t, Options{Timeout: e.timeout, MaxResponseBytes: 1 << 20, Observe: func(ctx context.Context, _ Call) (context.Context, func(Outcome, error)) {
				return ctx, func(o Outcome, _ error) { outcome = o }
			}})
			replies, err := c.Convert(t.Context(), request(e.webhook, first))
			if err == nil || !strings.Contains(err.Error(), e.want) || outcome != e.outcome {
				t.Errorf("%s, %s: %v; want %s: %s", replies, outcome, err, e.outcome, e.want)
			}
			if len(c.load.calls)+len(c.load.memory) != 0 {
				t.Errorf("after the call: %+v, %+v", c.load.calls, c.load.memory)
			}
		})
	}
}
