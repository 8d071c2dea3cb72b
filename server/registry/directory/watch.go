package directory

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// patience bounds, in settling times, how long a file or a directory may go on changing before it is read all the same.
const patience = 20

// Run keeps the catalog as the directories say, until ctx ends.
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

// wait returns when there is something to look at: a change after which nothing happened for a while, or the time is up. It returns false when ctx ended.
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
			// Changes were lost, mostly because there were too many: everything is looked at.
			l.log.DebugContext(ctx, "watching the directories of CRDs", "error", err)
			timer.Reset(l.o.Settle)
		}
	}
}

// watcher tells of changes where the system does. Without it there is polling alone.
type watcher struct {
	l       *Loader
	inner   *fsnotify.Watcher      // nil: the system has none for us
	watched map[string]os.FileInfo // directories as they were when watching them began
	told    map[string]string      // why one cannot be watched
}

func (l *Loader) watcher(ctx context.Context) *watcher {
	w := &watcher{l: l, watched: map[string]os.FileInfo{}, told: map[string]string{}}
	inner, err := fsnotify.NewWatcher()
	if err != nil {
		l.log.WarnContext(ctx, "the system does not tell of changes: the directories of CRDs are looked at now and then", "every", l.o.Poll, "error", err)
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

// follow watches the directories that are at their paths now: a watch stays with a directory that was moved or replaced.
func (w *watcher) follow(ctx context.Context, directories []*folder) {
	if w.inner == nil {
		return
	}
	list := w.inner.WatchList()
	for _, d := range directories {
		info, err := os.Stat(d.path)
		if err != nil {
			continue // listing it tells why
		}
		if before := w.watched[d.path]; before != nil && os.SameFile(before, info) && slices.Contains(list, d.path) {
			continue
		}
		_ = w.inner.Remove(d.path) // if it is watched at all
		if err := w.inner.Add(d.path); err != nil {
			if w.told[d.path] != err.Error() {
				w.told[d.path] = err.Error()
				w.l.log.WarnContext(ctx, "changes in a directory of CRDs are not told: it is looked at now and then", "directory", d.path, "every", w.l.o.Poll, "error", err)
			}
			continue
		}
		w.watched[d.path] = info
		delete(w.told, d.path)
	}
}
