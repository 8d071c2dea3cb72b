package registry

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// cluster is a store that several replicas share, for tests of following: its sequences jump, it can be compacted, and
// each replica can be cut off.
type cluster struct {
	mu        sync.Mutex
	sequence  uint64
	entries   map[string]Entry
	log       []Commit
	compacted uint64 // commits up to this sequence are no longer kept
	changed   broadcast
}

func newCluster() *cluster { return &cluster{sequence: 40, entries: map[string]Entry{}} }

// commit makes a commit. then, if given, is called when it is made and before it is reported: its error is the
// answer.
func (c *cluster) commit(t Transaction, then func() error) (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range t.Expect {
		if c.entries[e.Key].Version != e.Version {
			return 0, ErrConflict
		}
	}
	c.sequence += 1 + c.sequence%3
	done := Commit{Sequence: c.sequence}
	for _, e := range t.Put {
		e.Version = c.sequence
		c.entries[e.Key] = e
		done.Put = append(done.Put, e)
	}
	for key := range c.entries {
		if slices.Contains(t.Delete, key) || slices.ContainsFunc(t.DeletePrefix, func(p string) bool { return strings.HasPrefix(key, p) }) {
			done.Delete = append(done.Delete, key)
			delete(c.entries, key)
		}
	}
	c.log = append(c.log, done)
	defer c.changed.wake()
	if then != nil {
		return c.sequence, then()
	}
	return c.sequence, nil
}

// compact forgets all commits until now.
func (c *cluster) compact() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log, c.compacted = nil, c.sequence
}

// link is one replica's connection to a cluster.
type link struct {
	*cluster
	mu  sync.Mutex
	cut bool
	// afterCommit is called between a commit and its answer, before any caller sees it. Its error is the answer.
	afterCommit func() error
	switched    broadcast
}

var (
	_      Watcher = (*link)(nil)
	errCut         = errors.New("cut off")
)

func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	l.switched.wake()
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

func (l *link) ID() string   { return "cluster" }
func (l *link) Close() error { return nil }

func (l *link) Load(context.Context) (State, error) {
	if l.isCut() {
		return State{}, errCut
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	s := State{Sequence: l.sequence}
	for _, key := range slices.Sorted(maps.Keys(l.entries)) {
		s.Entries = append(s.Entries, l.entries[key])
	}
	return s, nil
}

func (l *link) Commit(ctx context.Context, t Transaction) (uint64, error) {
	if l.isCut() {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	return l.commit(t, l.afterCommit)
}

func (l *link) Watch(ctx context.Context, after uint64, connected func(), apply func(Commit)) error {
	for {
		changed, switched := l.changed.next(), l.switched.next()
		news, err := l.news(after)
		if err != nil {
			return err
		}
		connected()
		for _, c := range news {
			apply(c)
			after = c.Sequence
		}
		select {
		case <-changed:
		case <-switched:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// news returns the commits after a sequence.
func (l *link) news(after uint64) (news []Commit, err error) {
	l.cluster.mu.Lock() // a commit that cuts the link is not among them
	defer l.cluster.mu.Unlock()
	switch {
	case l.isCut():
		return nil, errCut
	case after < l.compacted:
		return nil, ErrCompacted
	}
	for _, c := range l.log {
		if c.Sequence > after {
			news = append(news, c)
		}
	}
	return news, nil
}

func (l *link) Latest(ctx context.Context) (uint64, error) {
	if l.isCut() {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}
	l.cluster.mu.Lock()
	defer l.cluster.mu.Unlock()
	return l.sequence, nil
}

// replicas returns registries over one cluster, and their links.
func replicas(t *testing.T, n int) (*cluster, []*Registry, []*link) {
	t.Helper()
	c := newCluster()
	var all []*Registry
	var links []*link
	for range n {
		l := &link{cluster: c}
		links, all = append(links, l), append(all, newRegistry(t, l, &clock{now: time.Unix(1000, 0)}))
	}
	return c, all, links
}
