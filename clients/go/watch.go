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

// WatchOptions shape a watch. The zero value begins with every CRD and holds no manifests.
type WatchOptions struct {
	// From is the token to begin behind: of an event, a write or a list. Empty: begin with every CRD as ADDED.
	From string
	// View says how much of the CRDs the events hold. Default: CRD_VIEW_BASIC.
	View crdevalv1.CrdView
}

// How long a watch waits before it tries again: doubling, with a share left to chance, so that a server that comes back is not met by all at once.
const (
	firstPause = 100 * time.Millisecond
	longPause  = 10 * time.Second
)

// Watch yields what happens to the CRDs of the catalog, until ctx ends or the loop does. Without a token to begin from, every CRD comes as ADDED, then
// SYNCED, then every change as it happens.
//
// A connection or a server that is lost is nothing to its caller: Watch goes on where it was, at whatever replica answers, and yields SYNCED again
// once it has caught up. Where the server no longer keeps what happened meanwhile (WATCH_EXPIRED, or TOKEN_INVALID once a store was replaced),
// a watch that began with every CRD reads them all anew and yields the difference: MODIFIED, and DELETED for those that are gone. One that
// began from a token cannot know what is gone: the error is yielded.
//
// An error is yielded last, with a nil event: that of ctx, or a gRPC status.
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

// lost says whether an error is that of a server or a connection that may come back.
func lost(err error) bool {
	return errors.Is(err, io.EOF) || status.Code(err) == codes.Unavailable
}

// forgotten says whether a server cannot go on from a token.
func forgotten(err error) bool {
	for _, d := range status.Convert(err).Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && (info.GetReason() == "WATCH_EXPIRED" || info.GetReason() == "TOKEN_INVALID") {
			return true
		}
	}
	return false
}

// watch is a Watch under way, over as many calls as it takes.
type watch struct {
	client *Client
	view   crdevalv1.CrdView
	token  string                    // to go on behind; empty: from the beginning
	known  map[string]*crdevalv1.Crd // what was told of; nil if the beginning was not
	anew   map[string]bool           // while everything is read: what was there
	yield  func(*crdevalv1.WatchCrdsResponse, error) bool
	ended  bool // by the loop
}

// once watches over one call, and says whether anything came.
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

// take yields an event, or what is new about it, and says whether to go on.
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
				return true // told already
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

// went remembers where to go on.
func (w *watch) went(token string) {
	if token != "" {
		w.token = token
	}
}

// gone yields the deletion of what was not there when everything was read anew, and says whether to go on.
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
