package crdeval

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
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
		pause := firstPause
		for {
			told, err := w.once(ctx)
			if w.ended {
				return
			}
			if told {
				pause = firstPause
			}
			switch {
			case ctx.Err() != nil:
				yield(nil, context.Cause(ctx))
				return
			case lost(err):
			case w.known != nil && forgotten(err):
				w.token = ""
			default:
				yield(nil, fmt.Errorf("crdeval: watch: %w", err))
				return
			}
			select {
			case <-time.After(pause/2 + rand.N(pause/2)): //nolint:gosec // no secret
			case <-ctx.Done():
			}
			pause = min(2*pause, longPause)
		}
	}
}

// lost reports whether err comes from a lost server or connection that may return.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || status.Code(err) == codes.Unavailable
}

// forgotten reports whether the server cannot resume from the token.
func forgotten(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && (info.GetReason() == "WATCH_EXPIRED" || info.GetReason() == "TOKEN_INVALID") {
			return true
		}
	}
	return false
}

// watch is the state of a Watch across its calls.
type watch struct {
	client *Client
	view   crdevalv1.CrdView
	token  string                    // token to resume after; empty: begin with every CRD
	known  map[string]*crdevalv1.Crd // CRDs that were yielded; nil if the watch began from a token
	anew   map[string]bool           // CRDs seen while all CRDs are read again
	yield  func(*crdevalv1.WatchCrdsResponse, error) bool
	ended  bool // the loop has ended
}

// once watches with one call. It reports whether an event came.
func (w *watch) once(ctx context.Context) (told bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.client.Registry().WatchCrds(ctx, &crdevalv1.WatchCrdsRequest{Catalog: w.client.catalog, FromToken: w.token, View: w.view})
	if err != nil {
		return false, err
	}
	w.anew = nil
	if w.token == "" && w.known != nil {
		w.anew = map[string]bool{}
	}
	for {
		event, err := stream.Recv()
		if err != nil {
			return told, err
		}
		told = true
		if !w.take(event) {
			w.ended = true
			return told, nil
		}
	}
}

// take yields an event unless it is already known. It reports whether to continue.
func (w *watch) take(event *crdevalv1.WatchCrdsResponse) bool {
	next := event.GetToken()
	if w.known != nil {
		name := event.GetCrd().GetName()
		before := w.known[name]
		switch event.GetType() {
		case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_ADDED, crdevalv1.WatchEventType_WATCH_EVENT_TYPE_MODIFIED:
			if w.anew != nil {
				w.anew[name] = true
			}
			if w.known[name] = event.GetCrd(); before.GetEtag() != "" && before.GetEtag() == event.GetCrd().GetEtag() {
				w.went(next)
				return true // already yielded
			}
			if before != nil {
				event.Type = crdevalv1.WatchEventType_WATCH_EVENT_TYPE_MODIFIED
			}
		case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_DELETED:
			if before == nil {
				w.went(next)
				return true
			}
			delete(w.known, name)
		case crdevalv1.WatchEventType_WATCH_EVENT_TYPE_SYNCED:
			if !w.gone() {
				return false
			}
		}
	}
	w.went(next)
	return w.yield(event, nil)
}

// went stores the token to resume after.
func (w *watch) went(token string) {
	if token != "" {
		w.token = token
	}
}

// gone yields the deletion of CRDs that were missing when all CRDs were read again. It reports whether to continue.
func (w *watch) gone() bool {
	if w.anew == nil {
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(w.known)) {
		if w.anew[name] {
			continue
		}
		c := w.known[name]
		delete(w.known, name)
		if !w.yield(&crdevalv1.WatchCrdsResponse{Type: crdevalv1.WatchEventType_WATCH_EVENT_TYPE_DELETED, Crd: c}, nil) {
			return false
		}
	}
	w.anew = nil
	return true
}
