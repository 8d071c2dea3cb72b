package directory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

// atOnce is the number of manifests in one call of RegisterAll.
const atOnce = 64

// maxLogged bounds the logged violations of one manifest.
const maxLogged = 10

// The pause before a retry after the registry failed doubles from retryAfter to retryMost.
const (
	retryAfter = time.Second
	retryMost  = 30 * time.Second
)

// failure is a failure of the registry, which is retried.
type failure struct {
	logged string        // the last logged text; empty if there is no failure
	wait   time.Duration // before the next retry
}

// pass reads changed files and registers and deletes CRDs. It returns the time until the next pass if nothing changes.
func (l *Loader) pass(ctx context.Context) (again time.Duration) {
	l.scan(ctx)
	if ctx.Err() != nil {
		return 0
	}
	l.claim(ctx)
	again = l.o.Poll
	if l.submit(ctx) && l.prune(ctx) {
		l.recovered(ctx)
	} else {
		l.failure.wait = min(max(2*l.failure.wait, retryAfter), retryMost)
		again = min(again, l.failure.wait)
	}
	if len(l.missing) > 0 || l.unsettled {
		again = min(again, l.o.Settle)
	}
	l.count()
	return again
}

// claim decides which file each CRD belongs to.
func (l *Loader) claim(ctx context.Context) {
	owners := make(map[string]string, len(l.owners))
	duplicates := map[place]string{}
	for _, path := range l.order {
		s := l.sources[path]
		for _, name := range s.claims {
			first, taken := owners[name]
			if taken {
				at := place{path, name}
				if duplicates[at] = first; l.duplicates[at] != first {
					l.log.ErrorContext(ctx, "two files have the same CRD: the first file wins", "crd", name, "first", first, "file", path)
				}
				delete(l.pending, at)
				delete(s.rejected, name)
				continue
			}
			owners[name] = path
			if _, waits := l.pending[place{path, name}]; !waits && l.settled[name] != path && l.settled[name] != "" {
				l.again(ctx, s, name)
			}
		}
	}
	l.owners, l.duplicates = owners, duplicates
}

// submit registers the pending CRDs in the order of files. It reports whether all were registered or rejected.
func (l *Loader) submit(ctx context.Context) bool {
	var places []place
	for _, path := range l.order {
		for _, name := range l.sources[path].claims {
			if _, ok := l.pending[place{path, name}]; ok {
				places = append(places, place{path, name})
			}
		}
	}
	done := true
	for chunk := range slices.Chunk(places, atOnce) {
		list := make([]registry.Submission, len(chunk))
		for i, at := range chunk {
			list[i].Manifest = l.pending[at].manifest.Document
		}
		answers, _, err := l.registry.RegisterAll(ctx, l.o.Catalog, list)
		if err == nil && len(answers) != len(list) {
			err = errors.New("the registry did not return a result for each manifest")
		}
		if err != nil {
			l.failed(ctx, err)
			return false
		}
		for i, answer := range answers {
			if ctx.Err() != nil {
				return false
			}
			done = l.answered(ctx, chunk[i], answer) && done
		}
		if !done {
			break
		}
	}
	return done
}

// answered records the result of a registration. It reports whether the result is final.
func (l *Loader) answered(ctx context.Context, at place, answer registry.Submitted) bool {
	s, m := l.sources[at.path], l.pending[at].manifest
	if answer.Err != nil && !final(answer.Err) {
		l.failed(ctx, answer.Err)
		return false
	}
	delete(l.pending, at)
	l.settled[at.name] = at.path
	report := answer.Registration.Report
	if answer.Err == nil && report.Accepted {
		delete(s.rejected, at.name)
		l.registered[at.name] = answer.Registration.CRD.Revision
		delete(l.missing, at.name)
		level := l.log.InfoContext
		if answer.Registration.Outcome == registry.Unchanged {
			level = l.log.DebugContext
		}
		level(ctx, "registered a CRD from a file", "crd", at.name, "file", at.path,
			"outcome", answer.Registration.Outcome, "revision", answer.Registration.CRD.Revision)
		for _, warning := range report.Warnings {
			l.log.WarnContext(ctx, "API servers accept this CRD with a warning", "crd", at.name, "file", at.path, "warning", warning)
		}
		return true
	}
	if s.rejected == nil {
		s.rejected = map[string]bool{}
	}
	s.rejected[at.name] = true
	const message = "a CRD is rejected; what was registered before stays"
	if answer.Err != nil {
		text, line, column := m.Describe(answer.Err)
		l.log.ErrorContext(ctx, message, "crd", at.name, "file", where(at.path, cmp.Or(line, m.Line()), column), "error", text)
		return true
	}
	for i, v := range report.Violations {
		if i == maxLogged {
			l.log.ErrorContext(ctx, message, "crd", at.name, "file", at.path, "more", len(report.Violations)-i)
			break
		}
		line, column := m.Line(), 0
		if v.Position != nil {
			p := m.Position(v.Pointer, *v.Position)
			line, column = p.Line, p.Column
		}
		text := v.Message
		if v.Field != "" {
			text = v.Field + ": " + v.Message
		}
		l.log.ErrorContext(ctx, message, "crd", at.name, "file", where(at.path, line, column), "error", text)
	}
	if len(report.Violations) == 0 && report.Rejection != nil {
		l.log.ErrorContext(ctx, message, "crd", at.name, "file", where(at.path, m.Line(), 0), "error", report.Rejection.Message)
	}
	return true
}

// final reports whether an error is about the manifest, so that a retry would fail, too.
func final(err error) bool {
	var fromEngine *engine.Error
	var fromRegistry *registry.Error
	switch {
	case errors.As(err, &fromRegistry):
		switch fromRegistry.Reason {
		case registry.InvalidArgument, registry.CRDRejected, registry.LimitExceeded:
			return true
		}
		return false
	case errors.As(err, &fromEngine):
		return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
	}
	return false
}

// failed records a failure of the registry, and logs it once.
func (l *Loader) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if text := err.Error(); text != l.failure.logged {
		l.failure.logged = text
		l.log.ErrorContext(ctx, "registering the directories of CRDs failed; retrying", "error", err)
	}
}

// recovered records that everything is registered.
func (l *Loader) recovered(ctx context.Context) {
	if l.failure.logged != "" {
		l.log.InfoContext(ctx, "everything in the directories of CRDs is registered again")
	}
	l.failure = failure{}
}

// prune deletes CRDs that have been missing from all files for long enough: a file may be replaced or renamed just now.
// It reports whether the registry works.
func (l *Loader) prune(ctx context.Context) bool {
	now := l.now()
	for _, name := range slices.Sorted(maps.Keys(l.registered)) {
		if l.owners[name] != "" {
			delete(l.missing, name)
			continue
		}
		since, ok := l.missing[name]
		if !ok {
			l.missing[name] = now
			continue
		}
		if now.Sub(since) < l.o.Settle {
			continue
		}
		if err := l.remove(ctx, name); err != nil {
			l.failed(ctx, err)
			return false
		}
		delete(l.registered, name)
		delete(l.settled, name)
		delete(l.missing, name)
	}
	return true
}

// remove deletes a CRD unless another client has changed it.
func (l *Loader) remove(ctx context.Context, name string) error {
	var e *registry.Error
	crd, err := l.registry.CRD(ctx, l.o.Catalog, name, "", "")
	if err == nil && crd.Revision != l.registered[name] {
		l.log.WarnContext(ctx, "no file has this CRD any more; it stays, because another client has changed it",
			"crd", name, "revision", crd.Revision)
		return nil
	}
	if err == nil {
		_, err = l.registry.Delete(ctx, l.o.Catalog, name, crd.Etag)
	}
	switch {
	case err == nil:
		l.log.InfoContext(ctx, "deleted a CRD that no file has any more", "crd", name)
		return nil
	case errors.As(err, &e) && (e.Reason == registry.CRDNotFound || e.Reason == registry.CatalogNotFound):
		l.log.DebugContext(ctx, "no file and no registry has this CRD any more", "crd", name)
		return nil
	}
	return err
}

// count updates Stats.
func (l *Loader) count() {
	var n Stats
	for _, d := range l.directories {
		if d.problem != "" {
			n.Broken++
		}
	}
	for path, s := range l.sources {
		broken := s.broken()
		for _, name := range s.claims {
			broken = broken || l.duplicates[place{path, name}] != ""
		}
		if broken {
			n.Broken++
		} else {
			n.Files++
		}
	}
	n.CRDs = len(l.registered)
	l.mu.Lock()
	defer l.mu.Unlock()
	n.LastSuccess = l.stats.LastSuccess
	if n.Broken == 0 && len(l.pending) == 0 && l.failure.logged == "" {
		n.LastSuccess = l.now()
	}
	l.stats = n
}
