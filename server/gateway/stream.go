package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// streamPatience is how long a client may not take what is written to it. It may have work to do with every result, so it is longer than that of a watch.
const streamPatience = 5 * time.Minute

// streamOf finds which stream of which catalog a path names.
func streamOf(path string) (verb, catalog string, found bool) {
	segments, verb := split(path)
	if len(segments) != 3 || segments[0] != "v1" || segments[1] != "catalogs" || segments[2] == "" {
		return "", "", false
	}
	_, found = streamVerbs[verb]
	return verb, segments[2], found
}

// stream answers AdmitStream and ReadStream: a body of items, read as it comes, and a line of JSON for each, written as they come. grpc-gateway's own streams
// know no path parameters, so that an item would go to the catalog that it names itself, and end without a word at what is no JSON.
func (g *gateway) stream(w http.ResponseWriter, r *http.Request, verb, catalog string) {
	if r.Method != http.MethodPost {
		g.refuseMethod(w, r, []string{http.MethodPost})
		return
	}
	serving, cancel := context.WithCancel(contextOfClient(r))
	defer cancel()
	control := http.NewResponseController(w)
	_ = control.EnableFullDuplex() // HTTP/2 is so anyway, and says that it cannot
	held := &room{of: g.options.Bodies}
	defer held.giveBack()
	to, from, err := g.openStream(serving, r, verb, catalog, &streamBody{request: r, control: control, most: g.options.MaxBodyBytes, held: held})
	if err != nil {
		held.giveBack()
		g.refuseBody(w, r, err)
		return
	}
	w.Header().Set("Content-Type", mediaLines)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx holds lines back otherwise
	if r.ProtoMajor == 1 && strings.EqualFold(r.Header.Get("Expect"), "100-continue") && !from.begun {
		w.WriteHeader(http.StatusContinue) // once a status is out, net/http does not say it any more, and clients such as curl would wait for it
	}
	w.WriteHeader(http.StatusOK)
	if control.Flush() != nil {
		return
	}
	var reading sync.WaitGroup
	reading.Go(func() { from.read(serving) })
	out := &streamWriter{lineWriter: lineWriter{to: w, control: control}, from: to, records: from.records, answers: make(chan answered), gone: serving.Done()}
	reading.Go(func() { out.receive(serving) })
	failed := out.run(from)
	cancel()
	if failed {
		// A client that sends on reads its last line only then. What it sends is thrown away for a while.
		_ = control.SetReadDeadline(time.Now().Add(drainTime))
	}
	reading.Wait()
	out.end()
}

// contextOfClient ends when the client of a stream is known to be gone. Over HTTP/1.1 net/http takes the end of what a client sends for the end of the client: who
// has sent a part of a body, or all of it, and closed that side of the connection may still read. That nobody does is what writing to it finds out.
func contextOfClient(r *http.Request) context.Context {
	if r.ProtoMajor == 1 {
		return context.WithoutCancel(r.Context())
	}
	return r.Context()
}

// openStream begins the call behind a stream. When it returns, the server has accepted the first message. Errors are statuses.
func (g *gateway) openStream(ctx context.Context, r *http.Request, verb, catalog string, body *streamBody) (to itemStream, from *streamReader, err error) {
	if err := checkHeaders(r.Header); err != nil {
		return nil, nil, err
	}
	if before := g.options.Before; before != nil {
		if err := before(r); err != nil {
			return nil, nil, err
		}
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return nil, nil, failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED,
			fmt.Sprintf("Content-Encoding %q is not supported: send the body as it is", enc), nil)
	}
	yaml, err := isStreamOfYAML(r.Header)
	if err != nil {
		return nil, nil, err
	}
	ctx, err = runtime.AnnotateContext(ctx, g.mux, r, crdevalv1.EvaluationService_AdmitStream_FullMethodName)
	if err != nil {
		return nil, nil, err
	}
	call := streamVerbs[verb](g)
	settings, err := streamParameters(call.first, r.URL.RawQuery)
	if err != nil {
		return nil, nil, err
	}
	from = body.reader(yaml, yaml || settings.bare)
	crds, err := body.crds(from, settings.crds, g.options.Lists["crds"])
	if err != nil {
		return nil, nil, err
	}
	if to, err = call.begin(ctx, catalog, crds.documents); err != nil {
		return nil, nil, err
	}
	// A server that ends the call at once sends no header.
	if header, err := to.Header(); err != nil || header == nil {
		if _, err = to.receive(); err == nil || errors.Is(err, io.EOF) {
			err = status.Error(codes.Internal, "the stream ended before it began")
		}
		return nil, nil, err
	}
	crds.giveBack(body.held)
	from.to, from.short = to, g.options.UnderPressure
	return to, from, nil
}

// isStreamOfYAML tells what a streamed body is: without a Content-Type, and with the one that curl sends unasked, lines of JSON.
func isStreamOfYAML(h http.Header) (bool, error) {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err == nil && (params["charset"] == "" || strings.EqualFold(params["charset"], "utf-8")) {
		switch media {
		case mediaLines, "application/x-jsonlines", "application/jsonl", "application/x-jsonl":
			return false, nil
		}
	}
	yaml, err := isYAML(h)
	if err != nil {
		err = failure(codes.InvalidArgument, crdevalv1.ErrorReason_ERROR_REASON_MEDIA_TYPE_NOT_SUPPORTED,
			fmt.Sprintf("Content-Type %q is not supported: send application/x-ndjson or application/yaml, in UTF-8", h.Get("Content-Type")), nil)
	}
	return yaml, err
}
