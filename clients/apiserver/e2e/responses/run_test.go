package responses

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// run is what one side responds to a list of requests.
type run struct {
	side      *side
	responses []response
	version   string            // the last resourceVersion
	numbers   map[string]string // of resourceVersions, in their order
	times     map[string]bool   // in all responses
}

type response struct {
	*request
	path, body string
	code       int
	// text contains the code, the body and the warnings, with the same resourceVersions, uids and times for all sides.
	text string
}

// send sends requests in their order.
func (s *side) send(t *testing.T, requests []request) *run {
	t.Helper()
	r := &run{side: s, numbers: map[string]string{}, times: map[string]bool{}}
	for i := range requests {
		q := &requests[i]
		bodies := q.Bodies
		if bodies == nil {
			bodies = []string{""}
		}
		for _, path := range q.Paths {
			for _, body := range bodies {
				for range max(1, q.Repeat) {
					r.add(t, response{request: q, path: path, body: strings.ReplaceAll(body, "META", q.Metadata)})
				}
			}
		}
	}
	return r
}

// add sends a request, and adds its response.
func (r *run) add(t *testing.T, a response) {
	t.Helper()
	body := strings.ReplaceAll(a.body, "VERSION", r.version)
	result := r.side.build(a.request, a.path, body).Do(t.Context()).StatusCode(&a.code)
	text, _ := result.Raw() // of a rejection, the body too
	if m := versions.FindSubmatch(text); m != nil && a.code < 300 {
		r.version = string(m[1])
	}
	for _, at := range times.FindAll(text, -1) {
		r.times[string(at)] = true
	}
	var warnings []string
	for _, w := range result.Warnings() {
		warnings = append(warnings, w.Text)
	}
	a.text = fmt.Sprintf("%d %s %q", a.code, r.normalize(bytes.TrimSpace(text)), warnings)
	r.responses = append(r.responses, a)
}

// spansSeconds reports whether a second passed between writes whose times are in responses.
func (r *run) spansSeconds() bool {
	return len(r.times) > 1
}

var (
	versions = regexp.MustCompile(`resourceVersion\\*":\\*"([0-9]+)`)
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)
	times    = regexp.MustCompile(`20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z`)
)

// normalize replaces times and uids, and numbers resourceVersions in their order.
func (r *run) normalize(text []byte) []byte {
	text = versions.ReplaceAllFunc(text, func(found []byte) []byte {
		version := string(versions.FindSubmatch(found)[1])
		if r.numbers[version] == "" {
			r.numbers[version] = fmt.Sprintf("#%d", len(r.numbers)+1)
		}
		return bytes.ReplaceAll(found, []byte(version), []byte(r.numbers[version]))
	})
	return uids.ReplaceAll(times.ReplaceAll(text, []byte("TIME")), []byte("UID"))
}

// differences compares the responses of all runs with those of the first, and its codes with those of the requests.
func differences(runs []*run) []string {
	var list []string
	for i, want := range runs[0].responses {
		if want.Code != 0 && want.code != want.Code {
			list = append(list, fmt.Sprintf("%s: %s: HTTP %d, the script has %d\n%s",
				want.Name, runs[0].side.name, want.code, want.Code, want.text))
		}
		for _, r := range runs[1:] {
			if got := r.responses[i]; got.text != want.text {
				list = append(list, fmt.Sprintf("%s: %s %s\n%s:\n%s\n%s:\n%s",
					want.Name, want.path, want.body, runs[0].side.name, want.text, r.side.name, got.text))
			}
		}
	}
	return list
}
