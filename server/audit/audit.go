// Package audit writes a line of JSON for each change of the registry and for each denied call.
package audit

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/crdeval/crdeval/server/access"
)

// Stderr is the path that makes Open write the audit log to stderr.
const Stderr = "-"

// fileMode makes the log readable only for its owner: it contains names and addresses of callers.
const fileMode = 0o600

// The maximum rate of denied calls in the log, so that clients without permissions cannot fill the disk. Changes are
// always logged.
const (
	deniedPerSecond = 10
	deniedBurst     = 100
)

// The values of Entry.Event.
const (
	EventChange = "change"
	EventDenied = "denied"
)

// OutcomeFailed is the outcome of a change that failed. Other outcomes are those of package registry.
const OutcomeFailed = "FAILED"

// Entry is a line of the log. docs/access.md describes the fields.
type Entry struct {
	Time    time.Time `json:"time"`
	Event   string    `json:"event"`
	User    string    `json:"user,omitempty"` // empty if the caller is not authenticated
	Groups  []string  `json:"groups,omitempty"`
	Source  string    `json:"source,omitempty"` // how the caller was identified
	Address string    `json:"address,omitempty"`
	Request string    `json:"requestId,omitempty"`
	Action  string    `json:"action"` // such as RegisterCrd, or the method of a denied call
	Catalog string    `json:"catalog,omitempty"`
	CRD     string    `json:"crd,omitempty"`
	Outcome string    `json:"outcome"`
	// Revision and Etag are those after the change. For a deletion, Etag is the one in the request.
	Revision string `json:"revision,omitempty"`
	Etag     string `json:"etag,omitempty"`
	Error    string `json:"error,omitempty"`
	Dropped  int    `json:"dropped,omitempty"` // denied calls that were not logged since the previous one that was
}

// Log is an audit log. It is safe for concurrent use.
type Log struct {
	path string // "" if the output is not a file
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	out     io.Writer
	file    *os.File
	failed  bool
	tokens  float64 // denied calls that may be logged now
	filled  time.Time
	dropped int
}

// Open opens a file for appending, or stderr if path is Stderr. Errors of later writes go to log and do not fail calls.
func Open(path string, log *slog.Logger) (*Log, error) {
	l := &Log{path: path, log: log, now: time.Now, tokens: deniedBurst, out: os.Stderr}
	if path == Stderr {
		l.path = ""
		return l, nil
	}
	return l, l.open()
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file, l.out = file, file
	return nil
}

// Close closes the file.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// Denied logs a call that is not authenticated or not permitted. It drops the call if it exceeds the maximum rate.
func (l *Log) Denied(ctx context.Context, action, catalog string, err error) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens = min(deniedBurst, l.tokens+now.Sub(l.filled).Seconds()*deniedPerSecond)
	l.filled = now
	if l.tokens < 1 {
		l.dropped++
		return
	}
	l.tokens--
	outcome := "PERMISSION_DENIED"
	if e, ok := access.AsError(err); ok && e.Unauthenticated {
		outcome = "UNAUTHENTICATED"
	}
	l.write(ctx, &Entry{Event: EventDenied, Action: action, Catalog: catalog, Outcome: outcome, Error: err.Error(), Dropped: l.dropped})
	l.dropped = 0
}

// change logs a change, or a change that failed.
func (l *Log) change(ctx context.Context, e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Event = EventChange
	l.write(ctx, e)
}

// write completes and writes an entry. It opens the file again if it was renamed or removed, for rotation.
func (l *Log) write(ctx context.Context, e *Entry) {
	e.Time = l.now().UTC()
	if id, ok := access.FromContext(ctx); ok {
		e.User, e.Groups, e.Source = id.Name, id.Groups, string(id.Source)
	}
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		e.Address = p.Addr.String()
	}
	if ids := metadata.ValueFromIncomingContext(ctx, "x-request-id"); len(ids) > 0 {
		const most = 128 // bytes
		e.Request = ids[0][:min(len(ids[0]), most)]
	}
	text, err := json.Marshal(e)
	if err == nil {
		err = l.reopen()
	}
	if err == nil {
		_, err = l.out.Write(append(text, '\n'))
	}
	if failed := err != nil; failed != l.failed {
		l.failed = failed
		if failed {
			l.log.ErrorContext(ctx, "cannot write the audit log; calls go on", "file", l.path, "error", err)
		}
	}
}

func (l *Log) reopen() error {
	if l.file == nil {
		return nil
	}
	current, err := os.Stat(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return l.open()
	}
	if err != nil {
		return err
	}
	if opened, err := l.file.Stat(); err != nil || !os.SameFile(current, opened) {
		return l.open()
	}
	return nil
}
