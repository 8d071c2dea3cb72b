package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// WatchOptions are the options of Watch. The zero value begins with every CRD and sends no manifests.
type WatchOptions struct {
	// From is the token to resume after: of an event, a write or a list. If it is empty, the watch begins with every
	// CRD as ADDED.
	From string
	// View selects how much of each CRD the events hold. Default: CRD_VIEW_BASIC.
	View crdevalv1.CrdView
}

// The pause before a watch reconnects. It doubles each time and is partly random, so that clients do not reconnect at
// the same time.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 10 * time.Second
)

// Watch yields the events of the CRDs of the catalog until ctx or the loop ends. Without a token, every CRD comes as
// ADDED, then SYNCED, then each change as it happens.
//
// If the connection or the server is lost, Watch resumes at any available replica. It yields SYNCED again after it has
// caught up. If the server no longer keeps the state of the token (WATCH_EXPIRED, or TOKEN_INVALID after the store was
// replaced), a watch that began with every CRD reads all CRDs again and yields the difference: MODIFIED, and DELETED
// for missing CRDs. A watch that began from a token cannot detect deleted CRDs. It yields the error.
//
// An error is yielded last, with a nil event: the error of ctx, or a gRPC status.
func (c *Client) Watch(ctx context.Context, o WatchOptions) iter.Seq2[*crdevalv1.WatchCrdsResponse, error] {
	return func(yield func(*crdevalv1.WatchCrdsResponse, error) bool) {
		w := watch{client: c, view: o.View, token: o.From, yield: yield}
		if o.From == "" {
			w.known = map[string]*crdevalv1.Crd{}
		}
		for pause := firstPause; ; pause = min(2*pause, longPause) {
			received, err := w.once(ctx)
			if received {
				pause = firstPause
			}
			switch {
			case err == nil: // the caller has ended the loop
				return
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case errors.Is(err, io.EOF), status.Code(err) == codes.Unavailable: // the server may return
			case w.known != nil && tokenExpired(err):
				w.token = ""
			default:
				yield(nil, fmt.Errorf("crdeval: watch: %w", err))
				return
			}
			delay, _ := overloadDelay(err)
			select {
			case <-time.After(max(jitter(pause), delay)):
			case <-ctx.Done():
			}
		}
	}
}

// tokenExpired reports whether err means that the server cannot resume from the token.
func tokenExpired(err error) bool {
	reason, _ := ReasonOf(err)
	return reason == crdevalv1.ErrorReason_ERROR_REASON_WATCH_EXPIRED ||
		reason == crdevalv1.ErrorReason_ERROR_REASON_TOKEN_INVALID
}

// watch is the state of a Watch across its calls.
type watch struct {
	client  *Client
	view    crdevalv1.CrdView
	token   string                    // token to resume after; empty: begin with every CRD
	known   map[string]*crdevalv1.Crd // CRDs that were yielded; nil if the watch began from a token
	relists bool                      // all CRDs are being read, and listed has those read so far
	listed  map[string]bool
	yield   func(*crdevalv1.WatchCrdsResponse, error) bool
}

// once watches with one call. It reports whether an event was received. The error is nil if the caller has ended the
// loop.
func (w *watch) once(ctx context.Context) (received bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	request := &crdevalv1.WatchCrdsRequest{Catalog: w.client.catalog, FromToken: w.token, View: w.view}
	stream, err := w.client.Registry().WatchCrds(ctx, request)
	if err != nil {
		return false, err
	}
	w.relists, w.listed = w.token == "", map[string]bool{}
	for {
		event, err := stream.Recv()
		if err != nil {
			return received, err
		}
		received = true
		if !w.take(event) {
			return true, nil
		}
	}
}

// take yields an event unless it is already known. It reports whether to continue.
func (w *watch) take(event *crdevalv1.WatchCrdsResponse) bool {
	if token := event.GetToken(); token != "" {
		w.token = token
	}
	if w.known == nil {
		return w.yield(event, nil)
	}
	crd := event.GetCrd()
	before := w.known[crd.GetName()]
	switch event.GetType() {
	case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_ADDED, crdevalv1.WatchEventType_WATCH_EVENT_TYPE_MODIFIED:
		w.known[crd.GetName()], w.listed[crd.GetName()] = crd, true
		if before.GetEtag() != "" && before.GetEtag() == crd.GetEtag() {
			return true
		}
		if before != nil {
			event.Type = crdevalv1.WatchEventType_WATCH_EVENT_TYPE_MODIFIED
		}
	case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_DELETED:
		if before == nil {
			return true
		}
		delete(w.known, crd.GetName())
	case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED:
		for _, name := range slices.Sorted(maps.Keys(w.known)) {
			deleted := w.known[name]
			if !w.relists || w.listed[name] {
				continue
			}
			delete(w.known, name)
			event := &crdevalv1.WatchCrdsResponse{Type: crdevalv1.WatchEventType_WATCH_EVENT_TYPE_DELETED, Crd: deleted}
			if !w.yield(event, nil) {
				return false
			}
		}
		w.relists = false
	}
	return w.yield(event, nil)
}
