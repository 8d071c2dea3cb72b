package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// GetScale is Get for the scale subresource.
func (d *Definition) GetScale(r Request) Answer {
	r.Op = Scale
	return d.Get(r)
}

// GetScaleTable answers a GET of the scale subresource as a table.
func (d *Definition) GetScaleTable(r Request) Answer {
	r.Op = Scale
	return d.get(r, "application/json;as=Table;v=v1;g=meta.k8s.io")
}

// Get answers a GET of r.Old at r.Version, or of its subresource if r.Op is Status or Scale. r is Whole: Name and
// Namespace are in the URL.
func (d *Definition) Get(r Request) Answer { return d.get(r, "application/json") }

// get answers a GET with the given header Accept.
func (d *Definition) get(r Request, accept string) Answer {
	s, err := d.server()
	if err != nil {
		return Answer{Rejection: &Rejection{Code: 500, Reason: Unworded}, DecodeError: err.Error()}
	}
	r.Patch = ""
	_, info := r.addressed(d.CRD)
	info.Verb = "get"
	c := &cell{held: r.Old, revision: r.revision()}
	ctx := context.WithValue(context.WithValue(audit.WithAuditContext(context.Background()), cellKey{}, c), witnessKey{}, &witnessed{})
	q := httptest.NewRequestWithContext(request.WithRequestInfo(ctx, info), http.MethodGet, "http://server/", nil)
	q.URL.Path = info.Path
	q.Header.Set("Accept", accept)
	response := httptest.NewRecorder()
	s.handler.ServeHTTP(response, q)
	body := bytes.TrimSpace(response.Body.Bytes())
	if response.Code < http.StatusBadRequest {
		return Answer{Object: body}
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err != nil || status.Kind != "Status" {
		return Answer{Rejection: &Rejection{Code: int32(response.Code), Message: strings.TrimSpace(string(body))}}
	}
	return Answer{Rejection: &Rejection{Code: status.Code, Reason: string(status.Reason), Message: status.Message}, Status: body}
}
