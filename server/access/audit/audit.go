// Package audit writes a line of JSON for each change of the registry and for each denied call. entry.go has the lines,
// and registry.go the changes.
package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/crdeval/crdeval/server/access"
	"github.com/crdeval/crdeval/server/call"
	"github.com/crdeval/crdeval/server/logfile"
	"github.com/crdeval/crdeval/server/registry"
)

// Stdout is the path that makes Open write the audit log to stdout.
const Stdout = "-"

// The maximum rate of lines of a caller about denied calls and about changes that failed, so that it cannot fill the
// disk. It does not apply to changes that succeeded.
const (
	failuresPerSecond = 10
	failureBurst      = 100
	// maxCallers bounds the callers with a rate of their own. Further callers share the rate of those without a name.
	maxCallers = 1000
)

const (
	// maxQueued bounds the lines that wait to be written. Further lines are lost.
	maxQueued = 1024
	// maxWait bounds the time that a call waits for the lines of its changes.
	maxWait = time.Second
)

// Log is an audit log. It is safe for concurrent use.
//
// One goroutine writes the lines, because a write can take long or hang. A change returns to its caller after its line
// was written, or after maxWait. A denied call does not wait: gRPC denies calls on the goroutine that reads their
// connection.
type Log struct {
	log   *slog.Logger
	now   func() time.Time
	file  *logfile.File // nil for stdout
	queue chan line
	ended chan struct{} // closed when the queue is closed and all its lines are written
	stats struct{ written, lost atomic.Int64 }

	mu       sync.Mutex
	closed   bool
	failures map[string]failureRate // by the name of the caller; empty if it is not authenticated
	dropped  int                    // lines since the last one in the queue that were not written
}

// failureRate bounds the rate of lines of a caller.
type failureRate struct {
	tokens float64 // lines that could be written at the time
	at     time.Time
}

// available returns the lines that can be written now.
func (r failureRate) available(now time.Time) float64 {
	return min(failureBurst, r.tokens+now.Sub(r.at).Seconds()*failuresPerSecond)
}

// line is a line in the queue.
type line struct {
	text    []byte
	dropped int           // lines before it that were not written, as the text says
	written chan struct{} // closed after the line was written or lost
}

// Stats are the numbers of lines of a Log.
type Stats struct {
	Written int64
	Lost    int64 // because the file could not be written, or too many lines waited for it
	Queued  int   // wait to be written
}

// Open opens a file for appending, or stdout if path is Stdout. Errors of later writes go to log and do not fail calls.
func Open(path string, log *slog.Logger) (*Log, error) {
	if path == Stdout {
		return newLog(os.Stdout, log), nil
	}
	switch f, err := logfile.Open(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("%w: create the directory, or write to stdout with '-'", err)
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		return nil, fmt.Errorf("%w: use a file that the server may write, or write to stdout with '-'", err)
	case err != nil:
		return nil, err
	default:
		return newLog(f, log), nil
	}
}

// newLog starts a log. It closes out at its end if out is a *logfile.File.
func newLog(out io.Writer, log *slog.Logger) *Log {
	l := &Log{
		log: log, now: time.Now, failures: map[string]failureRate{}, queue: make(chan line, maxQueued), ended: make(chan struct{}),
	}
	l.file, _ = out.(*logfile.File)
	go l.run(out)
	return l
}

// Stats returns the numbers of lines.
func (l *Log) Stats() Stats {
	return Stats{l.stats.written.Load(), l.stats.lost.Load(), len(l.queue)}
}

// Close waits until the queued lines are written, and closes the file. The error is about lines that ctx did not wait for.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	select {
	case <-l.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d lines of the audit log are not written: %w", len(l.queue)+1, context.Cause(ctx))
	}
}

// Reopen opens the path of the file again, after the file was renamed. Later lines go to the new file. If the path
// cannot be opened, they go to the old file.
func (l *Log) Reopen() {
	if l.file == nil {
		return
	}
	if err := l.file.Reopen(); err != nil {
		l.log.Error("cannot open the audit log again; lines go to the old file", "error", err)
	}
}

// Denied logs a call that is not authenticated or not permitted. It drops the call if it exceeds the maximum rate.
func (l *Log) Denied(ctx context.Context, action, catalog string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.takeFailure(ctx) {
		return
	}
	outcome := outcomeDenied
	if e, ok := access.AsError(err); ok && e.Unauthenticated {
		outcome = outcomeUnauthenticated
	}
	l.enqueue(ctx, &Entry{Event: EventDenied, Action: action, Catalog: catalog, Outcome: outcome, Error: err.Error()})
}

// takeFailure reports whether a line about a failure of the caller can be written now. Otherwise it counts the line as
// dropped. l.mu is held.
func (l *Log) takeFailure(ctx context.Context) bool {
	id := call.Of(ctx).Identity
	now, name := l.now(), id.Name
	rate, known := l.failures[name]
	if !known && len(l.failures) >= maxCallers {
		maps.DeleteFunc(l.failures, func(_ string, r failureRate) bool { return r.available(now) == failureBurst })
		if len(l.failures) >= maxCallers {
			name = ""
			rate, known = l.failures[name]
		}
	}
	tokens := float64(failureBurst)
	if known {
		tokens = rate.available(now)
	}
	ok := tokens >= 1
	if ok {
		tokens--
	} else {
		l.dropped++
	}
	l.failures[name] = failureRate{tokens, now}
	return ok
}

// change logs a change, or a change that failed, and waits until the line is written or lost, ctx ends or maxWait has
// passed. It drops a failed change if it exceeds the maximum rate.
func (l *Log) change(ctx context.Context, e *Entry) {
	e.Event = EventChange
	l.mu.Lock()
	if (e.Outcome == OutcomeFailed || e.Outcome == string(registry.Rejected)) && !l.takeFailure(ctx) {
		l.mu.Unlock()
		return
	}
	written := l.enqueue(ctx, e)
	l.mu.Unlock()
	defer call.Pause(ctx)()
	bounded, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case <-written:
	case <-bounded.Done():
	}
}

// enqueue completes an entry and adds it to the queue. It returns a channel that is closed after the line was written or
// lost. l.mu is held.
func (l *Log) enqueue(ctx context.Context, e *Entry) (written <-chan struct{}) {
	e.Time, e.Dropped = l.now().UTC(), l.dropped
	text, err := e.line(ctx)
	added := line{text, l.dropped, make(chan struct{})}
	if err == nil && !l.closed {
		select {
		case l.queue <- added:
			l.dropped = 0
			return added.written
		default:
			err = fmt.Errorf("%d lines wait to be written", maxQueued)
		}
	}
	l.dropped++
	l.stats.lost.Add(1)
	l.log.DebugContext(ctx, "a line of the audit log is lost", "error", err)
	close(added.written)
	return added.written
}

// run writes the lines of the queue until it is closed.
func (l *Log) run(out io.Writer) {
	defer close(l.ended)
	if l.file != nil {
		defer func() { _ = l.file.Close() }()
	}
	failed, partial := false, false
	for next := range l.queue {
		if partial { // the line feed ends the part of a line that was written before an error
			next.text = append([]byte("\n"), next.text...)
		}
		n, err := out.Write(next.text)
		partial = err != nil && (partial || n > 0)
		if err != nil {
			l.lost(next)
		} else {
			l.stats.written.Add(1)
		}
		if failed != (err != nil) {
			failed = err != nil
			if failed {
				l.log.Error("cannot write the audit log; calls go on", "error", err)
			} else {
				l.log.Warn("the audit log is written again", "lost", l.stats.lost.Load())
			}
		}
		close(next.written)
	}
}

// lost counts a line that was not written. A later line reports it.
func (l *Log) lost(of line) {
	l.stats.lost.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dropped += of.dropped + 1
}
