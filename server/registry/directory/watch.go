package directory

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience is the number of Settle times after which a file is read even if it still changes.
const patience = 20

// Run registers changes of the directories until ctx ends.
func (l *Loader) Run(ctx context.Context) {
	w := l.watcher(ctx)
	defer w.close()
	for {
		w.follow(ctx, l.directories)
		if !l.wait(ctx, w, l.pass(ctx)) {
			return
		}
	}
}

// wait waits until the files have changed and then stayed unchanged for Settle, or until the time is up. It returns false
// when ctx ended.
func (l *Loader) wait(ctx context.Context, w *watcher, again time.Duration) bool {
	timer := time.NewTimer(again)
	defer timer.Stop()
	var first time.Time // change
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return true
		case e := <-w.events():
			l.touched[e.Name] = true
			now := l.now()
			if first.IsZero() {
				first = now
			}
			timer.Reset(min(l.o.Settle, max(first.Add(patience*l.o.Settle).Sub(now), 0)))
		case err := <-w.errors():
			// Notifications were lost, mostly because there were too many: scan everything.
			l.log.DebugContext(ctx, "watching the directories of CRDs", "error", err)
			timer.Reset(l.o.Settle)
		}
	}
}

// watcher receives notifications of changes. If the system sends none, there is polling only.
type watcher struct {
	l       *Loader
	inner   *fsnotify.Watcher      // nil if the system does not support it
	watched map[string]os.FileInfo // watched directories
	logged  map[string]string      // why a directory cannot be watched
}

func (l *Loader) watcher(ctx context.Context) *watcher {
	w := &watcher{l: l, watched: map[string]os.FileInfo{}, logged: map[string]string{}}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		l.log.WarnContext(ctx, "the system sends no notifications: the directories of CRDs are polled", "every", l.o.Poll, "error", err)
		return w
	}
	w.inner = inner
	return w
}

func (w *watcher) close() {
	if w.inner != nil {
		_ = w.inner.Close()
	}
}

func (w *watcher) events() <-chan fsnotify.Event {
	if w.inner == nil {
		return nil
	}
	return w.inner.Events
}

func (w *watcher) errors() <-chan error {
	if w.inner == nil {
		return nil
	}
	return w.inner.Errors
}

// follow watches the directories that are at their paths now: after a replacement, a watch stays with the old directory.
func (w *watcher) follow(ctx context.Context, directories []*folder) {
	if w.inner == nil {
		return
	}
	list := w.inner.WatchList()
	for _, d := range directories {
		info, err := os.Stat(d.path)
		if err != nil {
			continue // list logs the error
		}
		if before := w.watched[d.path]; before != nil && os.SameFile(before, info) && slices.Contains(list, d.path) {
			continue
		}
		_ = w.inner.Remove(d.path) // it may be unwatched
		if err := w.inner.Add(d.path); err != nil {
			if w.logged[d.path] != err.Error() {
				w.logged[d.path] = err.Error()
				w.l.log.WarnContext(ctx, "cannot watch a directory of CRDs: it is polled", "directory", d.path, "every", w.l.o.Poll, "error", err)
			}
			continue
		}
		w.watched[d.path] = info
		delete(w.logged, d.path)
	}
}
