package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/manifests"
)

const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// body is a request body, read whole before anything is called: grpc-gateway sees it as an empty one, the Marshaler takes its
// bytes.
type body struct {
	data    []byte
	yaml    bool
	limits  value.Limits
	lists   map[string]ListLimit
	route   *route // what the path gives: the message may say the same and nothing else
	url     string
	form    *shown // of the answer; nil where there is but one
	held    *room
	source  *value.YAMLSource    // of a YAML body that was turned into JSON
	listed  []manifests.Manifest // of a YAML body of manifests, in the order of the entries
	apart   map[int]int          // by item: what to add to the offsets of findings about a YAML object that went on as YAML
	request any                  // what it was decoded into, whose documents are slices of data unless there is a source
	err     error                // of decoding: grpc-gateway keeps its text alone
}

// Read says that nothing is left.
func (*body) Read([]byte) (int, error) { return 0, io.EOF }

// Close does nothing.
func (*body) Close() error { return nil }

// readBody reads the body of r. Errors are statuses.
func readBody(w http.ResponseWriter, r *http.Request, o *Options, held *room) (*body, error) {
	yaml, err := isYAML(r.Header)
	if err != nil {
		return nil, err
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED,
			fmt.Sprintf("Content-Encoding %q is not supported: send the body as it is", enc), nil)
	}
	b := &body{yaml: yaml, limits: o.Limits, lists: o.Lists, held: held}
	b.data, err = readWhole(w, r, o.MaxBodyBytes, held)
	return b, err
}

// checkNoBody refuses a request that has a body of at least a byte, or that does not say in time that it has none.
func (g *gateway) checkNoBody(w http.ResponseWriter, r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	if r.ContentLength < 0 {
		body := g.options.Bodies.newPaced(r, http.NewResponseController(w))
		defer body.done()
		switch n, err := io.ReadFull(body, make([]byte, 1)); {
		case n == 0 && errors.Is(err, os.ErrDeadlineExceeded):
			return body.late(fmt.Sprintf("the body, which may have no byte, had not ended after %s", g.options.Bodies.patience))
		case n == 0:
			return nil
		}
	}
	return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
		fmt.Sprintf("%s %s takes no body: everything is in the path and the query", r.Method, r.URL.Path), nil)
}

// checkHeaders refuses headers that cannot be passed on as they are.
func checkHeaders(h http.Header) error {
	return checkTimeout(h)
}

// timeoutForm is what gRPC takes as the time that a call has.
var timeoutForm = regexp.MustCompile(`^[0-9]{1,8}[HMSmun]$`)

// checkTimeout refuses a time that gRPC does not take, and one of nothing, which is over: grpc-gateway takes that for no bound at all.
func checkTimeout(h http.Header) error {
	for _, given := range h.Values(headerTimeout) {
		switch {
		case !timeoutForm.MatchString(given):
			return failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_INVALID_ARGUMENT,
				fmt.Sprintf("the header %s is %q: it is a number of at most eight digits and a unit, H (hours), M (minutes), S (seconds), m (milliseconds), u (microseconds) or n (nanoseconds), such as 500m",
					headerTimeout, given), nil)
		case strings.Trim(given[:len(given)-1], "0") == "":
			return failure(codes.DeadlineExceeded, crdevalv1.ErrorReason_ERROR_REASON_DEADLINE,
				fmt.Sprintf("the call's deadline came before it began: the header %s is %q", headerTimeout, given), nil)
		}
	}
	return nil
}

func tooLarge(actual, max int64) error {
	sent := fmt.Sprintf("more than %d bytes", max)
	if actual > 0 {
		sent = fmt.Sprintf("%d bytes", actual)
	}
	return failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED,
		fmt.Sprintf("the body has %s and the limit max_message_bytes is %d: send fewer items in a call", sent, max),
		map[string]string{"limit": "max_message_bytes", "maximum": fmt.Sprint(max)})
}

// isYAML tells what a body is. Without a Content-Type, and with the one that curl -d sends unasked, it is JSON.
func isYAML(h http.Header) (bool, error) {
	given := h.Get("Content-Type")
	if given == "" {
		return false, nil
	}
	media, params, err := mime.ParseMediaType(given)
	if err == nil {
		if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
			err = fmt.Errorf("charset %s", charset)
		}
	}
	switch {
	case err != nil:
	case media == mediaJSON, strings.HasSuffix(media, "+json"), media == "text/json", media == "application/x-www-form-urlencoded":
		return false, nil
	case media == mediaYAML, strings.HasSuffix(media, "+yaml"), media == "application/x-yaml", media == "text/yaml", media == "text/x-yaml":
		return true, nil
	}
	return false, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED,
		fmt.Sprintf("Content-Type %q is not supported: send application/json or application/yaml, in UTF-8", given), nil)
}

// mayBeYAML says whether a body that was read as JSON begins as no object or array of JSON does.
func (b *body) mayBeYAML() bool {
	data := bytes.TrimLeft(b.data, " \t\r\n")
	return !b.yaml && len(data) > 0 && data[0] != '{' && data[0] != '['
}

// status of the error that decoding b ended with, nil if it did not fail.
func (b *body) status() *status.Status {
	if b.err == nil {
		return nil
	}
	if st, ok := status.FromError(b.err); ok {
		return st
	}
	var list *listError
	if errors.As(b.err, &list) {
		return status.Convert(failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, list.Error(),
			map[string]string{"limit": list.limit.Name, "maximum": strconv.Itoa(list.limit.Maximum)}))
	}
	var limit *value.LimitError
	if errors.As(b.err, &limit) {
		return status.Convert(failure(codes.ResourceExhausted, crdevalv1.ErrorReason_ERROR_REASON_LIMIT_EXCEEDED, "the body: "+limit.Error(),
			map[string]string{"maximum": strconv.FormatInt(limit.Maximum, 10)}))
	}
	text := b.err.Error()
	var ours *bodyError
	if errors.As(b.err, &ours) && b.mayBeYAML() {
		text += "; if it is YAML, send Content-Type: application/yaml"
	}
	var syntax *value.SyntaxError
	if errors.As(b.err, &syntax) {
		text = "the body: " + syntax.Error()
		if syntax.Line > 0 && syntax.Column > 0 { // YAML's texts name the line themselves
			text = fmt.Sprintf("the body, line %d, column %d: %s", syntax.Line, syntax.Column, syntax.Error())
		}
	}
	return status.Convert(failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MALFORMED_BODY, text, nil))
}
