package apiserver

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
)

// unreachable is a Remote that has outages.
type unreachable struct {
	Remote
	count   int64
	ongoing bool
}

func (u *unreachable) Outages() (count int64, ongoing bool, last error) {
	return u.count, u.ongoing, errors.New("unreachable")
}

// TestOutageWriter: the response to an error is replaced if an outage may have caused it, and no other response.
func TestOutageWriter(t *testing.T) {
	const before, during = 3, 4
	for _, c := range []struct {
		name    string
		code    int
		outages int64 // at the end of the request
		ongoing bool
		want    int
	}{
		{"no outage", http.StatusInternalServerError, before, false, 500},
		{"an earlier outage", http.StatusInternalServerError, before, true, 500},
		{"an outage", http.StatusInternalServerError, during, true, 503},
		{"an outage that has ended", http.StatusInternalServerError, during, false, 503},
		{"a watch cache that cannot decode", http.StatusTooManyRequests, before, true, 503},
		{"another watch cache", http.StatusTooManyRequests, before, false, 429},
		{"a conflict during an outage", http.StatusConflict, during, true, 409},
		{"an object during an outage", http.StatusOK, during, true, 200},
	} {
		e, recorder := &unreachable{count: before}, httptest.NewRecorder()
		var w http.ResponseWriter
		w = withOutages(recorder, e, func(err error) { http.Error(w, err.Error(), http.StatusServiceUnavailable) })
		e.count, e.ongoing = c.outages, c.ongoing
		w.WriteHeader(c.code)
		if n, err := w.Write([]byte("body")); n != 4 || err != nil {
			t.Errorf("%s: wrote %d bytes, %v", c.name, n, err)
		}
		body := "body"
		if c.want == http.StatusServiceUnavailable {
			body = "unreachable\n"
		}
		if recorder.Code != c.want || recorder.Body.String() != body {
			t.Errorf("%s: HTTP %d %q, want %d %q", c.name, recorder.Code, recorder.Body, c.want, body)
		}
	}
}
