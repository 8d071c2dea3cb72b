package served

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// routes parses URLs like an API server: a field selector for one name turns a list into a list of this object.
var routes = &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// Panicked is the answer of an API server whose handler panics. The filter that returns it wraps the handler.
const Panicked = "This request caused apiserver to panic. Look in the logs for details."

// Get requests a path. It returns the body, or the Status of a rejection.
func Get(h http.Handler, path string, query url.Values, accept string) (body []byte, rejection *metav1.Status, err error) {
	defer func() {
		if recover() != nil {
			body, rejection, err = nil, &metav1.Status{Code: http.StatusInternalServerError, Message: Panicked}, nil
		}
	}()
	ctx := audit.WithAuditContext(context.Background())
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://server"+path, nil)
	q.URL.RawQuery = query.Encode()
	q.Header.Set("Accept", accept)
	info, err := routes.NewRequestInfo(q)
	if err != nil {
		return nil, nil, err
	}
	response := httptest.NewRecorder()
	h.ServeHTTP(response, q.WithContext(request.WithRequestInfo(ctx, info)))
	body = bytes.TrimSpace(response.Body.Bytes())
	if response.Code == http.StatusOK {
		return body, nil, nil
	}
	rejection = &metav1.Status{}
	if err := json.Unmarshal(body, rejection); err != nil {
		return nil, nil, fmt.Errorf("upstream answers %d with %q", response.Code, body)
	}
	return nil, rejection, nil
}
