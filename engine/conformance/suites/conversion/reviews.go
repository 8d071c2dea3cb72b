package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// answer writes the response of the webhook.
type answer func(w http.ResponseWriter, c *call, converted []json.RawMessage)

// honestly returns the converted objects, like most webhooks together with the request.
var honestly = edited(func(review, _ object) {
	review["request"] = object{"uid": "ignored", "desiredAPIVersion": "ignored", "objects": []any{}}
})

// reviews are the wrong responses, by name of the behaviour. Some are allowed.
var reviews = map[string]answer{
	"review-minimal":       edited(func(object, object) {}),
	"review-unknown-field": edited(func(review, response object) { review["more"], response["more"] = 1, object{} }),
	"review-uid":           response("uid", "other"),
	"review-uid-missing":   response("uid", nil),
	"review-uid-number":    response("uid", 7),
	"review-other-version": edited(func(review, _ object) {
		other := map[string]string{"apiextensions.k8s.io/v1": "apiextensions.k8s.io/v1beta1"}
		if review["apiVersion"] = other[fmt.Sprint(review["apiVersion"])]; review["apiVersion"] == "" {
			review["apiVersion"] = "apiextensions.k8s.io/v1"
		}
	}),
	"review-unknown-version": edited(func(review, _ object) { review["apiVersion"] = "apiextensions.k8s.io/v2" }),
	"review-other-group":     edited(func(review, _ object) { review["apiVersion"] = "example.com/v1" }),
	"review-no-version":      edited(func(review, _ object) { delete(review, "apiVersion") }),
	"review-no-kind":         edited(func(review, _ object) { delete(review, "kind") }),
	"review-neither":         edited(func(review, _ object) { delete(review, "kind"); delete(review, "apiVersion") }),
	"review-other-kind":      edited(func(review, _ object) { review["kind"] = "AdmissionReview" }),
	"review-crd": body(func(*call) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","spec":{"group":"x"}}`
	}),
	"review-kind-number":  edited(func(review, _ object) { review["kind"] = 1 }),
	"response-missing":    edited(func(review, _ object) { delete(review, "response") }),
	"response-null":       edited(func(review, _ object) { review["response"] = nil }),
	"response-empty":      edited(func(review, _ object) { review["response"] = object{} }),
	"response-list":       edited(func(review, _ object) { review["response"] = []any{} }),
	"result-missing":      response("result", nil),
	"result-empty":        response("result", object{}),
	"result-string":       response("result", "Success"),
	"failure":             response("result", object{"status": "Failure"}),
	"failure-message":     response("result", object{"status": "Failure", "message": "custom webhook conversion error"}),
	"failure-odd-message": response("result", object{"status": "Failure", "message": "a\nb\t%v %s \"é\" <&> \u2028"}),
	"failure-details": response("result",
		object{"status": "Failure", "reason": "Invalid", "code": 422, "details": object{"kind": "x"}}),
	"success-message":    response("result", object{"status": "Success", "message": "done"}),
	"success-lower-case": response("result", object{"status": "success"}),
	"objects-missing":    response("convertedObjects", nil),
	"objects-empty":      response("convertedObjects", []any{}),
	"objects-null":       response("convertedObjects", json.RawMessage("null")),
	"objects-string":     response("convertedObjects", "x"),
	"objects-object":     response("convertedObjects", object{}),
	"objects-one-more":   changed(func(list []json.RawMessage) []json.RawMessage { return append(list, list[0]) }),
	"objects-one-less":   changed(func(list []json.RawMessage) []json.RawMessage { return list[1:] }),
	"body-empty":         body(func(*call) string { return "" }),
	"body-text":          body(func(*call) string { return "it works!" }),
	"body-null":          body(func(*call) string { return "null" }),
	"body-list":          body(func(*call) string { return "[]" }),
	"body-number":        body(func(*call) string { return "17" }),
	"body-truncated":     cut(func(text []byte) []byte { return text[:len(text)/2] }),
	"body-trailing":      cut(func(text []byte) []byte { return append(text, "}"...) }),
	"body-twice":         cut(func(text []byte) []byte { return append(text, text...) }),
	"body-yaml": body(func(c *call) string {
		return "apiVersion: " + c.apiVersion + "\nkind: ConversionReview\n"
	}),
	"body-invalid-utf8": exchanged("Success", "Succ\xffess"),
	"body-duplicates":   exchanged(`"kind"`, `"kind":"X","kind"`),
	"body-cut-off": func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		w.Header().Set("Content-Length", "100000")
		honestly(w, c, converted)
	},
	"connection-closed": func(w http.ResponseWriter, _ *call, _ []json.RawMessage) {
		if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = connection.Close()
		}
	},
	"type-text": func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		w.Header().Set("Content-Type", "text/plain")
		honestly(w, c, converted)
	},
	"type-yaml": func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		w.Header().Set("Content-Type", "application/yaml")
		honestly(w, c, converted)
	},
	"type-unknown": func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		w.Header().Set("Content-Type", "a/b/c; d")
		honestly(w, c, converted)
	},
	"status-success": body(func(*call) string { return `{"apiVersion":"v1","kind":"Status","status":"Success"}` }),
	"status-failure": body(func(*call) string {
		return `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Conflict","message":"body","code":409}`
	}),
	"http-created": func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		w.WriteHeader(http.StatusCreated)
		honestly(w, c, converted)
	},
	"http-no-content": func(w http.ResponseWriter, _ *call, _ []json.RawMessage) { w.WriteHeader(http.StatusNoContent) },
	"http-500-json": withStatus(http.StatusInternalServerError,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"as a Status","reason":"InternalError","code":500}`),
	"http-422-json": withStatus(http.StatusUnprocessableEntity,
		`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not this one","reason":"Invalid","code":422,`+
			`"details":{"name":"n","kind":"k","causes":[{"reason":"FieldValueInvalid","message":"m","field":"f"}]}}`),
	"http-500-review": func(w http.ResponseWriter, c *call, _ []json.RawMessage) {
		w.WriteHeader(http.StatusInternalServerError)
		honestly(w, c, nil)
	},
}

func init() {
	for _, code := range []int{400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 500, 502, 503, 504} {
		reviews["http-"+strconv.Itoa(code)] = withStatus(code, "Cannot handle this ConversionReview\n")
	}
}

// edited changes the honest review and its response.
func edited(edit func(review, response object)) answer {
	return func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		response := object{"uid": c.uid, "result": object{"status": "Success"}, "convertedObjects": converted}
		review := object{"apiVersion": c.apiVersion, "kind": "ConversionReview", "response": response}
		edit(review, response)
		write(w, encode(review))
	}
}

// response sets a member of the response. Nil removes it.
func response(key string, value any) answer {
	return edited(func(_, response object) { put(response, key, value) })
}

// changed changes the list of objects.
func changed(change func(list []json.RawMessage) []json.RawMessage) answer {
	return edited(func(_, response object) {
		list, _ := response["convertedObjects"].([]json.RawMessage)
		response["convertedObjects"] = change(list)
	})
}

// body returns a text.
func body(text func(c *call) string) answer {
	return func(w http.ResponseWriter, c *call, _ []json.RawMessage) { write(w, []byte(text(c))) }
}

// cut changes the text of the honest response.
func cut(change func(text []byte) []byte) answer {
	return func(w http.ResponseWriter, c *call, converted []json.RawMessage) {
		kept := &buffer{header: http.Header{}}
		honestly(kept, c, converted)
		write(w, change(kept.Bytes()))
	}
}

// exchanged changes the text of the honest response once.
func exchanged(old, with string) answer {
	return cut(func(text []byte) []byte { return bytes.Replace(text, []byte(old), []byte(with), 1) })
}

// withStatus returns a text with an HTTP status.
func withStatus(code int, text string) answer {
	return func(w http.ResponseWriter, _ *call, _ []json.RawMessage) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(text))
	}
}

func write(w http.ResponseWriter, text []byte) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = w.Write(text)
}

// buffer keeps a response.
type buffer struct {
	bytes.Buffer
	header http.Header
}

// Header implements http.ResponseWriter.
func (b *buffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *buffer) WriteHeader(int) {}
