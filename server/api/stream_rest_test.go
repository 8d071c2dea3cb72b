package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/crdeval/crdeval/server/api"
)

// line is one of a streamed answer.
type line struct {
	Index   *int `json:"index"`
	Line    int  `json:"line"`
	Verdict *struct {
		Allowed    bool            `json:"allowed"`
		Object     json.RawMessage `json:"object"`
		Violations []struct {
			Field    string `json:"field"`
			Position struct {
				Line, Column int
				Offset       int
			}
		} `json:"violations"`
		Rejection *struct{ Code int } `json:"rejection"`
	} `json:"verdict"`
	Transformed *struct {
		Object json.RawMessage `json:"object"`
	} `json:"transformed"`
	Error *struct {
		Message string `json:"message"`
		Details []struct {
			Reason   string            `json:"reason"`
			Metadata map[string]string `json:"metadata"`

			Violations []struct {
				Position struct{ Line, Column int } `json:"position"`
			} `json:"violations"`
		} `json:"details"`
	} `json:"error"`
}

func (l line) String() string {
	text, _ := json.Marshal(l)
	return string(text)
}

// streamed sends a body and reads the lines of the answer.
func (w *wire) streamed(t *testing.T, path, body string, headers ...string) []line {
	t.Helper()
	a := w.do(http.MethodPost, path, body, headers...)
	if a.code != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatalf("HTTP %d: %s", a.code, a.text)
	}
	return linesOf(t, a.text)
}

func linesOf(t *testing.T, text string) (all []line) {
	t.Helper()
	for one := range strings.Lines(text) {
		var l line
		if err := json.Unmarshal([]byte(one), &l); err != nil {
			t.Fatalf("%v: %s", err, one)
		}
		all = append(all, l)
	}
	return all
}

const admitPath = "/v1/catalogs/default:admitStream"

// TestStreamedLines: an item a line; what is no item has an error of its own; violations point into the body.
func TestStreamedLines(t *testing.T) {
	w := start(t, nil).withCronTab()
	bad := `  {"crd": "crontabs.stable.example.com", "create": {"object": ` + cronTab(`{"cronSpec": "ü", "replicas": 0}`) + `}}`
	body := `{"create":{"object":` + cronTab(`{}`) + "}}\n\n" + bad + "\r\n" + cronTab(`{}`) + "\n" + `{"create":{"object":{"kind":}}}` + "\n" + `{"create":{"object":` + cronTab(`{}`) + `}}`
	got := w.streamed(t, admitPath, body)
	if len(got) != 5 {
		t.Fatalf("%v", got)
	}
	for i, number := range []int{1, 3, 4, 5, 6} {
		if got[i].Index == nil || *got[i].Index != i || got[i].Line != number {
			t.Errorf("%d: %v", i, got[i])
		}
	}
	if !got[0].Verdict.Allowed || !strings.Contains(string(got[0].Verdict.Object), "busybox") || !got[4].Verdict.Allowed {
		t.Errorf("%v, %v", got[0], got[4])
	}
	if v := got[1].Verdict.Violations; len(v) != 1 || v[0].Field != "spec.replicas" {
		t.Errorf("%v", got[1])
	} else if before, _, _ := strings.Cut(bad, `0}}}`); v[0].Position.Line != 3 || v[0].Position.Offset != strings.Index(body, `0}}}`) || v[0].Position.Column != len([]rune(before))+1 {
		t.Errorf("%+v, want what is behind %s", v[0].Position, before)
	}
	if e := got[2].Error; e == nil || e.Details[0].Reason != "MALFORMED_BODY" || !strings.Contains(e.Message, "line 4, column ") || !strings.Contains(e.Message, "bare=true") {
		t.Errorf("%v", got[2])
	}
	if got[3].Error == nil && got[3].Verdict.Allowed {
		t.Errorf("%v", got[3])
	}

	bare := w.streamed(t, admitPath+"?bare=true&context.options.view=OBJECT_VIEW_NONE", cronTab(`{}`)+"\n"+cronTab(`{"replicas":0}`)+"\n", "Content-Type", "application/x-ndjson")
	if len(bare) != 2 || !bare[0].Verdict.Allowed || bare[0].Verdict.Object != nil || bare[1].Verdict.Allowed || bare[1].Verdict.Violations[0].Position.Line != 2 {
		t.Errorf("%v", bare)
	}
	if read := w.streamed(t, "/v1/catalogs/default:readStream?bare=true&targetVersion=v1alpha1", cronTab(`{"x":1}`)); len(read) != 1 || !strings.Contains(string(read[0].Transformed.Object), "v1alpha1") {
		t.Errorf("%v", read)
	}
	if none := w.streamed(t, admitPath, "\n"); len(none) != 0 {
		t.Errorf("%v", none)
	}
}

// TestStreamedResultsAreLines: line breaks in a CRD or an item do not reach the lines of the answer.
func TestStreamedResultsAreLines(t *testing.T) {
	const crd = "{\"apiVersion\": \"apiextensions.k8s.io/v1\", \"kind\": \"CustomResourceDefinition\", \"metadata\": {\"name\": \"foos.x.com\"},\r\n" +
		`"spec": {"group": "x.com", "scope": "Cluster", "names": {"plural": "foos", "kind": "Foo"}, "versions": [{"name": "v1", "served": true, "storage": true,
		"schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "default": {
			"free": {}
		}, "properties": {"free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}, "a": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "integer"}}}, "default": [
			{
				"b": 1` + "\r" + `}
		]}}}}}}}]}}`
	const object = `{"apiVersion": "x.com/v1",%[1]s"kind":%[1]s"Foo", "metadata": {"name": "a", "labels": {%[1]s"b": "c"}}, "spec": {"free":%[1]s{"d":%[1]s[1,%[1]s"x"]}, "z": [%[1]s1]}}`
	w := start(t, nil)
	if got := w.do(http.MethodPost, "/v1/catalogs/default/crds", crd); got.code != http.StatusOK {
		t.Fatal(got.text)
	}
	spaced, returns := fmt.Sprintf(object, "\r\n "), fmt.Sprintf(object, "\r")
	update := `{"update": {"object": ` + returns + `, "oldObject": ` + returns + `, "subresource": ""}}`
	for _, c := range []struct{ name, path, media, body string }{
		{"admit lines", admitPath, "application/x-ndjson", `{"create":{"object":` + returns + "}}\n" + update},
		{"admit bare lines", admitPath + "?bare=true&include.tableRow=true", "application/x-ndjson", returns + "\r\n" + returns},
		{"admit DECODE", admitPath + "?stage=ADMISSION_STAGE_DECODE", "application/x-ndjson", `{"create":{"object":` + returns + "}}\n" + update},
		{"admit documents", admitPath, "application/yaml", spaced + "\n---\n" + spaced},
		{"read lines", "/v1/catalogs/default:readStream?bare=true", "application/x-ndjson", returns + "\n" + returns},
		{"read documents", "/v1/catalogs/default:readStream", "application/yaml", spaced + "\n---\n" + spaced},
	} {
		a := w.do(http.MethodPost, c.path, c.body, "Content-Type", c.media)
		lines := linesOf(t, a.text)
		if len(lines) != 2 || strings.Contains(a.text, "\r") || strings.Count(a.text, "\n") != 2 {
			t.Errorf("%s: %q", c.name, a.text)
		}
		if !strings.Contains(a.text, `"a":[{"b":1}]`) || !strings.Contains(a.text, `"free":{"d":[1,"x"]}`) {
			t.Errorf("%s: %s", c.name, a.text)
		}
	}
}

// TestStreamedYAML: an object a document.
func TestStreamedYAML(t *testing.T) {
	w := start(t, nil).withCronTab()
	const document = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: x, namespace: default}\nspec: {replicas: %s}\n"
	body := fmt.Sprintf("# some\n"+document+"---\n"+document+"---\na: [\n---\n# none\n---\n"+document, "1", "0", "2")
	got := w.streamed(t, admitPath, body, "Content-Type", "application/yaml")
	if len(got) != 4 || !got[0].Verdict.Allowed || got[1].Line != 7 || got[2].Line != 12 || !got[3].Verdict.Allowed {
		t.Fatalf("%v", got)
	}
	p := got[1].Verdict.Violations[0].Position
	if offset := strings.Index(body, "0}"); p.Line != 10 || p.Column != 18 || p.Offset != offset {
		t.Errorf("%+v, want the offset %d", p, offset)
	}
	if got[2].Error == nil && (got[2].Verdict == nil || got[2].Verdict.Rejection == nil) {
		t.Errorf("%v", got[2])
	}
}

// TestStreamedYAMLErrors: errors about documents that cannot be read have positions in the body.
func TestStreamedYAMLErrors(t *testing.T) {
	w := start(t, nil).withCronTab()
	for _, path := range []string{admitPath, "/v1/catalogs/default:readStream"} {
		got := w.streamed(t, path, "a: 1\n---\nb: 2\n---\n\tbad: [\n---\nc: 2\n  d: {\n", "Content-Type", "application/yaml")
		if len(got) != 4 {
			t.Fatalf("%v", got)
		}
		for i, line := range map[int]string{2: "5", 3: "8"} {
			column := map[int]string{2: "1", 3: "4"}[i]
			e := got[i].Error
			if e == nil || e.Details[0].Reason != "OBJECT_UNREADABLE" || !strings.HasPrefix(e.Message, "invalid YAML: ") || e.Details[0].Metadata["line"] != line {
				t.Fatalf("%s: %v, want line %s", path, got[i], line)
			}
			if e.Details[0].Metadata["column"] != column {
				t.Errorf("%s: %v, want column %s", path, got[i], column)
			}
			at := e.Details[1].Violations[0].Position
			if fmt.Sprint(at.Line) != line || fmt.Sprint(at.Column) != column {
				t.Errorf("%s: a violation at %+v, want line %s, column %s", path, at, line, column)
			}
		}
	}
}

// TestStreamedEnd checks that the reason for the end of a stream follows the results of the items before it.
func TestStreamedEnd(t *testing.T) {
	w := start(t, nil).withCronTab()
	good := `{"create":{"object":` + cronTab(`{}`) + "}}\n"
	for _, c := range []struct{ name, body, query, media, message string }{
		{"no JSON", strings.Repeat(good, 150) + "{\"create\":{\"object\":\n" + good, "", "", "line 151, column 21: "},
		{"YAML", good + "apiVersion: v1\n", "", "", "line 2, column 1: "},
		{"two values", good + `{} {}`, "", "", "line 2, column 4: there is something after the value: a line is one value (each line"},
		{"no JSON object", cronTab(`{}`) + "\n{\"kind\":", "?bare=true", "", "line 2, column "},
		{"a long line", good + `{"create":{"object":"` + strings.Repeat("x", maxMessage) + `"}}`, "", "", "line 2: the line or document has more bytes than the limit max_message_bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := w.streamed(t, admitPath+c.query, c.body)
			last := got[len(got)-1]
			if last.Error == nil || last.Index != nil || !strings.Contains(last.Error.Message, c.message) {
				t.Errorf("%.300s", last)
			}
			if c.name == "no JSON" && (len(got) != 151 || last.Error.Details[0].Metadata["line"] != "151") {
				t.Errorf("%d lines, %v", len(got), last)
			}
			for _, l := range got[:len(got)-1] {
				if !l.Verdict.Allowed {
					t.Errorf("%v", l)
				}
			}
		})
	}
}

// TestStreamsRejected: what is wrong with a stream as a whole has an HTTP status of its own.
func TestStreamsRejected(t *testing.T) {
	w := start(t, nil).withCronTab()
	good := `{"create":{"object":` + cronTab(`{}`) + "}}\n"
	for _, c := range []struct {
		name, method, path string
		headers            []string
		code               int
		reason, message    string
	}{
		{"another catalog", "POST", "/v1/catalogs/nowhere:admitStream", nil, 404, "CATALOG_NOT_FOUND", "nowhere"},
		{"a method", "GET", admitPath, nil, 405, "METHOD_NOT_ALLOWED", "POST"},
		{"a media type", "POST", admitPath, []string{"Content-Type", "text/csv"}, 415, "MEDIA_TYPE_NOT_SUPPORTED", "application/x-ndjson or application/yaml"},
		{"an encoding", "POST", admitPath, []string{"Content-Encoding", "gzip"}, 415, "MEDIA_TYPE_NOT_SUPPORTED", "gzip"},
		{"a token", "POST", admitPath + "?context.at_least=nobodys", nil, 400, "TOKEN_INVALID", ""},
		{"an unknown parameter", "POST", admitPath + "?view=x", nil, 400, "INVALID_ARGUMENT", `unknown query parameter "view": this call takes context.atLeast, context.options.fieldValidation, context.options.view, context.options.itemTimeout`},
		{"no parameter", "POST", admitPath + "?items=1", nil, 400, "INVALID_ARGUMENT", "items"},
		{"the catalog again", "POST", admitPath + "?catalog=other", nil, 400, "INVALID_ARGUMENT", "catalog"},
		{"half a parameter", "POST", admitPath + "?context=1", nil, 400, "INVALID_ARGUMENT", `"context"`},
		{"a value", "POST", admitPath + "?context.options.view=ALL", nil, 400, "INVALID_ARGUMENT", "ALL"},
		{"a stage", "POST", "/v1/catalogs/default:readStream?stage=ADMISSION_STAGE_DECODE", nil, 400, "INVALID_ARGUMENT", "targetVersion"},
		{"bare", "POST", admitPath + "?bare=1", nil, 400, "INVALID_ARGUMENT", `"bare"`},
		{"twice", "POST", admitPath + "?bare=true&bare=false", nil, 400, "INVALID_ARGUMENT", `given 2 times`},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := w.do(c.method, c.path, strings.Repeat(good, 3), c.headers...)
			if st := a.status(t); a.code != c.code || reason(t, st) != c.reason || !strings.Contains(st.Message(), c.message) {
				t.Errorf("HTTP %d: %s", a.code, a.text)
			}
		})
	}
}

// open begins a streamed request whose body a test writes as it goes.
func (w *wire) open(t *testing.T, path string) (body *io.PipeWriter, answer func() *bufio.Scanner) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	from, to := io.Pipe()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, from)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	type answered struct {
		*http.Response
		error
	}
	got := make(chan answered, 1)
	go func() {
		resp, err := w.http.Do(r)
		got <- answered{resp, err}
	}()
	return to, func() *bufio.Scanner {
		a := <-got
		if a.error != nil {
			t.Fatal(a.error)
		}
		t.Cleanup(func() { _ = a.Body.Close() })
		if a.StatusCode != http.StatusOK {
			t.Fatalf("HTTP %d", a.StatusCode)
		}
		lines := bufio.NewScanner(a.Body)
		lines.Buffer(nil, maxMessage)
		return lines
	}
}

// TestStreamedContinue checks that a client with Expect: 100-continue gets it, although its answer has begun by then.
func TestStreamedContinue(t *testing.T) {
	w := start(t, nil).withCronTab()
	continued := false
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{Got100Continue: func() { continued = true }})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+admitPath, strings.NewReader(`{"create":{"object":`+cronTab(`{}`)+`}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Expect", "100-continue")
	a, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: patience, DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(a.Body)
	_ = a.Body.Close()
	if lines := linesOf(t, string(text)); err != nil || !continued || len(lines) != 1 || !lines[0].Verdict.Allowed {
		t.Errorf("100 Continue: %t; %s, %v", continued, text, err)
	}
}

// TestStreamedCutOff: a body that is cut off, over a connection on which the client still listens, has the results of what came whole, and an error behind them.
func TestStreamedCutOff(t *testing.T) {
	w := start(t, nil).withCronTab()
	item := `{"create":{"object":` + cronTab(`{}`) + "}}\n"
	documents := cronTab(`{}`) + "\n---\n" + cronTab(`{}`) + "\n"
	chunked := func(body string) string {
		return fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
	}
	withLength := func(missing int, body string) string {
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body)+missing, body)
	}
	for _, c := range []struct {
		name, media, body string
		results           int
		cut               bool
	}{
		{"an item", "application/x-ndjson", chunked(item), 1, true},
		{"items and a half", "application/x-ndjson", chunked(item + item + item[:20]), 2, true},
		{"nothing", "application/x-ndjson", chunked("\n"), 0, true},
		{"by length", "application/x-ndjson", withLength(9, item+item), 2, true},
		{"within a chunk", "application/x-ndjson", strings.TrimSuffix(chunked(item+item), "}\n\r\n"), 1, true},
		{"documents", "application/yaml", chunked(documents), 1, true},
		{"half a marker", "application/yaml", withLength(9, documents+"---"), 1, true},
		{"whole, by chunks", "application/x-ndjson", chunked(item+item) + "0\r\n\r\n", 2, false},
		{"whole, by length", "application/x-ndjson", withLength(0, item+item), 2, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 10 { // it was a matter of luck
				conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
				if err != nil {
					t.Fatal(err)
				}
				_ = conn.SetDeadline(time.Now().Add(patience))
				if _, err := io.WriteString(conn, "POST "+admitPath+" HTTP/1.1\r\nHost: x\r\nContent-Type: "+c.media+"\r\n"+c.body); err != nil {
					t.Fatal(err)
				}
				_ = conn.(*net.TCPConn).CloseWrite()
				var text []byte
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err == nil {
					text, err = io.ReadAll(resp.Body)
					_ = resp.Body.Close()
				}
				_ = conn.Close()
				if err != nil {
					t.Fatalf("%s, %v", text, err)
				}
				lines := linesOf(t, string(text))
				if c.cut {
					last := line{}
					if len(lines) > 0 {
						last = lines[len(lines)-1]
						lines = lines[:len(lines)-1]
					}
					if last.Index != nil || last.Error == nil || last.Error.Details[0].Reason != "MALFORMED_BODY" {
						t.Fatalf("%s", text)
					}
				}
				if len(lines) != c.results {
					t.Fatalf("%s", text)
				}
				for _, l := range lines {
					if l.Verdict == nil || !l.Verdict.Allowed {
						t.Fatalf("%s", text)
					}
				}
			}
		})
	}
}

// TestInteractiveStream: over HTTP/1.1, too, results come while the body still goes on, and a server that drains ends the stream.
func TestInteractiveStream(t *testing.T) {
	draining := make(chan struct{})
	w := startWith(t, nil, func(o *api.Options) { o.Draining = draining }).withCronTab()
	body, answer := w.open(t, admitPath)
	lines := answer() // before anything was sent
	for i := range 3 {
		if _, err := fmt.Fprintf(body, "{\"create\":{\"object\":%s}}\n{\"nothing\":%d}\n", cronTab(fmt.Sprintf(`{"cronSpec":"%d"}`, i)), i); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if l := linesOf(t, lines.Text())[0]; *l.Index != 2*i || !l.Verdict.Allowed {
			t.Errorf("%s", lines.Text())
		}
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if l := linesOf(t, lines.Text())[0]; *l.Index != 2*i+1 || l.Error == nil {
			t.Errorf("%s", lines.Text())
		}
	}
	close(draining)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	if l := linesOf(t, lines.Text())[0]; l.Index != nil || l.Error.Details[0].Reason != "OVERLOADED" {
		t.Errorf("%s", lines.Text())
	}
	_ = body.Close()
	if lines.Scan() || lines.Err() != nil {
		t.Errorf("%s, %v", lines.Text(), lines.Err())
	}
}

// TestStreamedBackPressure: a client that does not read cannot send on; nothing is lost when it does; and one that goes away leaves nothing behind, as the
// check for goroutines at the end of the tests knows.
func TestStreamedBackPressure(t *testing.T) {
	w := start(t, nil).withCronTab()
	item := `{"create":{"object":` + cronTab(fmt.Sprintf(`{"extra":{"x":%q}}`, strings.Repeat("x", 100_000))) + "}}\n"
	const most = 1000
	for _, read := range []bool{true, false} {
		body, answer := w.open(t, admitPath)
		sent := make(chan int, most)
		go func() {
			defer close(sent)
			for i := range most {
				if _, err := io.WriteString(body, item); err != nil {
					return
				}
				sent <- i
			}
			_ = body.Close()
		}()
		lines := answer()
		for last := -1; last != len(sent); time.Sleep(300 * time.Millisecond) {
			last = len(sent)
		}
		if n := len(sent); n > most*3/4 {
			t.Errorf("%d of %d items were taken", n, most)
		} else {
			t.Logf("%d of %d items were taken", n, most)
		}
		if !read {
			_ = body.CloseWithError(io.ErrClosedPipe)
			continue
		}
		n := 0
		for ; lines.Scan(); n++ {
			if l := linesOf(t, lines.Text())[0]; *l.Index != n || l.Line != n+1 || !l.Verdict.Allowed {
				t.Fatalf("%.200s", lines.Text())
			}
		}
		if lines.Err() != nil || n != most {
			t.Errorf("%d lines, %v", n, lines.Err())
		}
	}
}
