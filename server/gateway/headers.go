package gateway

import (
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// timeoutForm is the format of a gRPC timeout.
var timeoutForm = regexp.MustCompile(`^[0-9]{1,8}[HMSmun]$`)

// checkTimeout rejects a malformed Grpc-Timeout, and one of zero, which grpc-gateway takes for none.
func checkTimeout(h http.Header) error {
	const name = "Grpc-Timeout"
	for _, given := range h.Values(name) {
		switch {
		case !timeoutForm.MatchString(given):
			return invalid("the header %s is %q: it is a number of at most eight digits and a unit, H (hours), M (minutes), S (seconds), "+
				"m (milliseconds), u (microseconds) or n (nanoseconds), such as 500m", name, given)
		case strings.Trim(given[:len(given)-1], "0") == "":
			return failure(crdevalv1.ErrorReason_ERROR_REASON_DEADLINE,
				fmt.Sprintf("the deadline of the call passed before it began: the header %s is %q", name, given), nil)
		}
	}
	return nil
}

func checkEncoding(h http.Header) error {
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return unsupported("Content-Encoding %q is not supported: send the body without compression", enc)
	}
	return nil
}

// mediaOf returns the media type of a body in UTF-8, "" if none is given.
func mediaOf(h http.Header) (string, error) {
	given := h.Get("Content-Type")
	if given == "" {
		return "", nil
	}
	media, params, err := mime.ParseMediaType(given)
	if charset := params["charset"]; err == nil && charset != "" && !strings.EqualFold(charset, "utf-8") {
		err = fmt.Errorf("charset %s", charset)
	}
	return media, err
}

// isYAML reports whether a body is YAML instead of JSON. Other media types are errors. Browsers send forms, text and
// bodies without a Content-Type for pages of other sites without a CORS preflight.
func isYAML(r *http.Request) (bool, error) {
	media, err := mediaOf(r.Header)
	switch {
	case err != nil:
	case media == "" && r.ContentLength == 0, media == mediaJSON, media == "text/json", strings.HasSuffix(media, "+json"):
		return false, nil
	case media == mediaYAML, media == "application/x-yaml", media == "text/yaml", media == "text/x-yaml", strings.HasSuffix(media, "+yaml"):
		return true, nil
	}
	return false, unsupportedMedia(r, "application/json or application/yaml")
}

// isJSON is isYAML for calls that take only JSON: it returns false, or the status of another media type.
func isJSON(r *http.Request) (yaml bool, err error) {
	if yaml, err = isYAML(r); yaml || err != nil {
		return false, unsupportedMedia(r, mediaJSON)
	}
	return false, nil
}

// isYAMLStream reports whether a streamed body is YAML, and not JSON.
func isYAMLStream(r *http.Request) (bool, error) {
	switch media, err := mediaOf(r.Header); media {
	case mediaLines, "application/x-jsonlines", "application/jsonl", "application/x-jsonl":
		if err == nil {
			return false, nil
		}
	}
	yaml, err := isYAML(r)
	if err != nil {
		err = unsupportedMedia(r, "application/x-ndjson or application/yaml")
	}
	return yaml, err
}

// unsupportedMedia returns the error of a body with an unsupported or missing media type.
func unsupportedMedia(r *http.Request, supported string) error {
	if given := r.Header.Get("Content-Type"); given != "" {
		return unsupported("Content-Type %q is not supported: send %s, in UTF-8", given, supported)
	}
	return unsupported("the request has a body but no Content-Type: send %s, in UTF-8", supported)
}
