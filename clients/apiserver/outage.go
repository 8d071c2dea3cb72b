package apiserver

import (
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/endpoints/responsewriter"
)

// outageWriter replaces the error response of a request by 503 ServiceUnavailable if the evaluator was out of reach.
// Upstream's handlers report such an error of a codec as an internal error, and codecs of the storage have no context.
type outageWriter struct {
	http.ResponseWriter
	evaluator Remote
	before    int64 // the outages before the request
	fail      func(error)
	replaced  bool
}

// withOutages returns a writer for one request. fail writes an error to it.
func withOutages(w http.ResponseWriter, e Remote, fail func(error)) http.ResponseWriter {
	before, _, _ := e.Outages()
	return responsewriter.WrapForHTTP1Or2(&outageWriter{ResponseWriter: w, evaluator: e, before: before, fail: fail})
}

// Unwrap implements responsewriter.UserProvidedDecorator.
func (w *outageWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// outageCodes are the codes of responses to errors of codecs. 429 is that of a watch cache that cannot decode objects. The
// decoder of bodies reports outages itself, because its errors are 400 and 422, as those of malformed bodies.
var outageCodes = []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusGatewayTimeout}

// WriteHeader implements http.ResponseWriter.
func (w *outageWriter) WriteHeader(code int) {
	err := w.outage(code)
	if err == nil {
		w.ResponseWriter.WriteHeader(code)
		return
	}
	w.Header().Del("Content-Encoding")
	w.fail(err)
	w.replaced = true
}

// outage returns the outage that may have caused a response, nil for none.
func (w *outageWriter) outage(code int) error {
	if !slices.Contains(outageCodes, code) {
		return nil
	}
	count, ongoing, last := w.evaluator.Outages()
	if count == w.before && (!ongoing || code != http.StatusTooManyRequests) {
		return nil
	}
	return last
}

// Write implements http.ResponseWriter.
func (w *outageWriter) Write(body []byte) (int, error) {
	if w.replaced {
		return len(body), nil
	}
	return w.ResponseWriter.Write(body)
}
