package responses

import (
	"strings"

	"k8s.io/client-go/rest"
)

// request is sent with each body to each path, Repeat times, by default once.
type request struct {
	Name   string   `json:"name"`
	Method string   `json:"method"` // default PATCH
	Paths  []string `json:"paths"`  // below /apis
	Type   string   `json:"type"`   // a key of types
	// Bodies may contain META, which stands for Metadata, and VERSION, the resourceVersion of the last object in a
	// response.
	Bodies   []string `json:"bodies"`
	Metadata string   `json:"metadata"`
	Repeat   int      `json:"repeat"`
	// Code is that of upstream's responses, 0 for any.
	Code int `json:"code"`
}

// types are the Content-Types.
var types = map[string]string{
	"": "application/json", "yaml": "application/yaml", "apply": "application/apply-patch+yaml",
	"merge": "application/merge-patch+json", "json-patch": "application/json-patch+json",
	"strategic": "application/strategic-merge-patch+json",
}

// build returns an HTTP request to a path, which can have a query.
func (s *side) build(r *request, path, body string) *rest.Request {
	method := r.Method
	if method == "" {
		method = "PATCH"
	}
	path, query, _ := strings.Cut(path, "?")
	q := s.client.Verb(method).AbsPath("/apis", path)
	q.SetHeader("Content-Type", types[r.Type]).SetHeader("Accept", "application/json")
	for _, part := range strings.Split(query, "&") {
		if key, v, ok := strings.Cut(part, "="); ok {
			q.Param(key, v)
		}
	}
	if method != "GET" {
		q.Body([]byte(body))
	}
	return q
}
