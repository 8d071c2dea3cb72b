package metamorphic

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// watch is a watch of a history. It ends at the next restart or at the end of the history.
type watch struct {
	at     int
	events []proto.Message
	failed error
	resume string // the token of SYNCED, if the events after it are replayed
	done   chan struct{}
	cancel context.CancelFunc
}

// beginWatch receives the events up to SYNCED.
func (p *player) beginWatch(ctx context.Context, at int, o *operation) {
	w := &watch{at: at, done: make(chan struct{})}
	p.watches = append(p.watches, w)
	watching, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	stream, err := p.client.watch(watching, p.done[o.From].token)
	for synced := false; err == nil && !synced; {
		var event proto.Message
		var token string
		if event, synced, token, _, err = stream.next(); err == nil {
			w.events = append(w.events, event)
			w.resume = token
		}
	}
	w.failed = err
	if err != nil || p.config.Replay {
		cancel()
		close(w.done)
		return
	}
	mark := markName(p.marks)
	go func() {
		defer close(w.done)
		w.receive(stream, mark)
	}()
}

// receive receives events until that of a CRD.
func (w *watch) receive(stream watchStream, mark string) {
	for {
		event, synced, _, crd, err := stream.next()
		switch {
		case err != nil:
			w.failed = err
			return
		case synced: // of a replay
			continue
		}
		w.events = append(w.events, event)
		if crd == mark {
			return
		}
	}
}

// endWatches registers a CRD, waits until each watch has its event, and records all events.
func (p *player) endWatches(ctx context.Context, at int) {
	if len(p.watches) == 0 {
		return
	}
	mark := markName(p.marks)
	p.marks++
	m, r, err := p.client.register(ctx, markManifest(mark))
	p.add(at, "register a mark", m, err)
	if r.token != "" {
		p.last = r.token
	}
	for n, w := range p.watches {
		if p.config.Replay && w.failed == nil {
			p.replay(ctx, w, mark)
		}
		<-w.done
		w.cancel()
		for i, event := range w.events {
			p.add(w.at, fmt.Sprintf("watch %d, event %d", n, i), event, nil)
		}
		if w.failed != nil {
			p.add(w.at, fmt.Sprintf("watch %d, the end", n), nil, w.failed)
		}
	}
	p.watches = nil
}

// replay receives the events since SYNCED.
func (p *player) replay(ctx context.Context, w *watch, mark string) {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.client.watch(watching, w.resume)
	if w.failed = err; err == nil {
		w.receive(stream, mark)
	}
}

// The marks have a group of their own, so that their names are in conflict with no others.
func markName(n int) string { return fmt.Sprintf("marks%d.marks.example.com", n) }

func markManifest(name string) *jsontree.Node {
	plural := name[:len(name)-len(".marks.example.com")]
	return jsontree.Obj("apiVersion", "apiextensions.k8s.io/v1", "kind", "CustomResourceDefinition",
		"metadata", jsontree.Obj("name", name),
		"spec", jsontree.Obj("group", "marks.example.com", "scope", "Cluster",
			"names", jsontree.Obj("plural", plural, "kind", "K"+plural),
			"versions", jsontree.Arr(jsontree.Obj("name", "v1", "served", true, "storage", true,
				"schema", jsontree.Obj("openAPIV3Schema", jsontree.Obj("type", "object"))))))
}
