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

const (
	maxBatch  = 64 // manifests in one call of RegisterAll
	maxLogged = 10 // logged violations of one manifest
)

// The pause before a retry after the registry failed doubles from minRetry to maxRetry.
const (
	minRetry = time.Second
	maxRetry = 30 * time.Second
)

// registration is the state of a CRD in the files, or of the conversion rules of a CRD.
type registration struct {
	key
	file     *file  // the first file that has it; nil if none has it any more
	version  int64  // of the file whose manifest was registered or rejected last; 0 for none
	rejected bool   // that manifest was rejected
	revision string // the revision, or the rules, that the Loader registered last; empty for none
	written  int64  // the last write of the CRD; of rules: the one for which they were set or rejected
	waiting  bool   // the rules are for a CRD that is not registered
	missing  time.Time
}

// pass reads changed files and registers and deletes CRDs. It returns the time until the next pass if nothing changes.
func (l *Loader) pass(ctx context.Context) (again time.Duration) {
	l.scan(ctx)
	if ctx.Err() != nil {
		return 0
	}
	err := l.submit(ctx, l.pending(ctx), true)
	if err == nil {
		err = l.setConversions(ctx)
	}
	missing := false
	if err == nil {
		missing, err = l.prune(ctx)
	}
	if ctx.Err() != nil {
		return 0
	}
	again = l.o.Poll
	if err != nil {
		if text := err.Error(); text != l.failure {
			l.failure = text
			l.log.ErrorContext(ctx, "registering the directories of CRDs failed; retrying", "error", err)
		}
		l.retry = min(max(2*l.retry, minRetry), maxRetry)
		again = min(again, l.retry)
	} else {
		if l.failure != "" {
			l.log.InfoContext(ctx, "registering the directories of CRDs succeeded after a failure")
		}
		l.failure, l.retry = "", 0
		for _, f := range l.files {
			f.manifests = nil
		}
	}
	if missing || l.reread {
		again = min(again, l.o.QuietPeriod)
	}
	l.updateStats()
	return again
}

// pending determines the file of each CRD and of conversion rules. It returns the CRDs to register, in the order of the
// files.
func (l *Loader) pending(ctx context.Context) (list []*registration) {
	for _, c := range l.entries {
		c.file = nil
	}
	for _, f := range l.files {
		duplicates := map[key]string{}
		for i, k := range slices.Concat(f.keys, f.retained) {
			c := l.entries[k]
			if c == nil {
				c = &registration{key: k}
				l.entries[k] = c
			}
			if c.file != nil {
				if duplicates[k] = c.file.path; f.duplicates[k] != c.file.path {
					what := "CRD"
					if k.rules {
						what = "conversion rules"
					}
					l.log.ErrorContext(ctx, "two files contain the same "+what+": the first file is used",
						"crd", k.crd, "first", c.file.path, "file", f.path)
				}
				continue
			}
			c.file, c.missing = f, time.Time{}
			if !k.rules && c.version != f.version && i < len(f.keys) && l.hasManifest(ctx, c) {
				list = append(list, c)
			}
		}
		f.duplicates = duplicates
	}
	return list
}

// hasManifest reports whether the manifest of an entry is in its file. It reads the file again if necessary: another
// file may have had the CRD until now.
func (l *Loader) hasManifest(ctx context.Context, c *registration) bool {
	if c.file.manifests == nil && c.file.unreadable == "" {
		l.readAgain(ctx, c.file)
	}
	_, ok := c.file.manifests[c.key]
	return ok
}

// submit registers CRDs in their order, together with their conversion rules, so that conversions have no gap. Rules that
// are rejected do not keep their CRD from being registered. The error is that of the registry: then the rest has to be
// registered later.
func (l *Loader) submit(ctx context.Context, list []*registration, withRules bool) error {
	for batch := range slices.Chunk(list, maxBatch) {
		submissions, alone := make([]registry.Submission, len(batch)), []*registration(nil)
		for i, c := range batch {
			submissions[i].Manifest = c.file.manifests[c.key].Document
			if rules := l.entries[key{c.crd, true}]; withRules && rules != nil && rules.file != nil && l.hasManifest(ctx, rules) {
				submissions[i].Conversion = rules.file.manifests[rules.key].Document
			}
		}
		results, _, err := l.registry.RegisterAll(ctx, l.o.Catalog, submissions)
		if err != nil {
			return err
		}
		for i, result := range results {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if result.Err != nil && !isFinal(result.Err) {
				err = cmp.Or(err, result.Err)
				continue
			}
			if !submissions[i].Conversion.Absent() && (result.Err != nil || result.Registration.Outcome == registry.Rejected) {
				alone = append(alone, batch[i])
				continue
			}
			l.record(ctx, batch[i], result)
		}
		if err = cmp.Or(err, l.submit(ctx, alone, false)); err != nil {
			return err
		}
	}
	return nil
}

// record records and logs the result of a registration.
func (l *Loader) record(ctx context.Context, c *registration, result registry.Submitted) {
	path, m, report := c.file.path, c.file.manifests[c.key], result.Registration.Report
	c.version = c.file.version
	if c.rejected = result.Err != nil || result.Registration.Outcome == registry.Rejected; !c.rejected {
		c.revision = result.Registration.CRD.Revision
		level := l.log.InfoContext
		if result.Registration.Outcome == registry.Unchanged {
			level = l.log.DebugContext
		} else {
			l.writes++
			c.written = l.writes
		}
		level(ctx, "registered a CRD from a file", "crd", c.crd, "file", path,
			"outcome", result.Registration.Outcome, "revision", c.revision)
		for _, warning := range engine.KubernetesWarnings(report.Warnings) {
			l.log.WarnContext(ctx, "API servers accept this CRD with a warning",
				"crd", c.crd, "file", path, "warning", warning)
		}
		for _, w := range report.Warnings {
			if w.Type == engine.TypeNotice {
				l.log.WarnContext(ctx, "crdeval has a note about this CRD", "crd", c.crd, "file", path, "note", w.Text)
			}
		}
		if result.Registration.CRD.Conversion != nil {
			rules := l.entries[key{c.crd, true}]
			rules.version, rules.written, rules.waiting = rules.file.version, c.written, false
			l.recordConversion(ctx, rules, nil, &result.Registration, nil)
		}
		l.warnOfConversion(ctx, c, report.Conversion)
		return
	}
	reject := l.rejecter(ctx, c, "a CRD is rejected; the previously registered version, if any, stays")
	if result.Err != nil {
		line, column := positionOf(result.Err)
		reject(cmp.Or(line, m.Line()), column, "error", result.Err.Error())
		return
	}
	rejectViolations(m, report.Violations, reject)
	if len(report.Violations) == 0 && report.Rejection != nil {
		reject(m.Line(), 0, "error", report.Rejection.Message)
	}
}

// rejecter returns a function that logs a message with a position in the file of an entry.
func (l *Loader) rejecter(ctx context.Context, c *registration, message string) func(line, column int, attributes ...any) {
	return func(line, column int, attributes ...any) {
		l.log.ErrorContext(ctx, message,
			append([]any{"crd", c.crd, "file", position(c.file.path, line, column)}, attributes...)...)
	}
}

// rejectViolations calls reject for the first violations of a manifest.
func rejectViolations(m *manifest, violations []engine.Violation, reject func(line, column int, attributes ...any)) {
	for i, v := range violations {
		if i == maxLogged {
			reject(0, 0, "more", len(violations)-i)
			break
		}
		line, column := m.Line(), 0
		if v.Position != nil {
			line, column = v.Position.Line, v.Position.Column
		}
		text := v.Message
		if v.Field != "" {
			text = v.Field + ": " + v.Message
		}
		reject(line, column, "error", text)
	}
}

// isFinal reports whether an error is about the manifest, so that a retry would fail too.
func isFinal(err error) bool {
	var fromRegistry *registry.Error
	if errors.As(err, &fromRegistry) {
		return fromRegistry.Reason.IsFinal()
	}
	var fromEngine *engine.Error
	return errors.As(err, &fromEngine) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// prune deletes CRDs, and removes conversion rules, that have been missing for long enough, unless a file that may have
// them is still being written. It reports whether some are missing and not deleted yet. The error is that of the registry.
func (l *Loader) prune(ctx context.Context) (missing bool, err error) {
	now := time.Now()
	for _, k := range slices.SortedFunc(maps.Keys(l.entries), key.compare) {
		c := l.entries[k]
		switch {
		case c.file != nil:
			continue
		case c.revision != "" && (c.missing.IsZero() || l.reread || now.Sub(c.missing) < l.o.QuietPeriod):
			c.missing, missing = cmp.Or(c.missing, now), true
			continue
		case c.revision != "":
			remove := l.remove
			if k.rules {
				remove = l.removeConversion
			}
			if err := remove(ctx, c); err != nil {
				return true, err
			}
		}
		delete(l.entries, k)
	}
	return missing, nil
}

// remove deletes a CRD unless another client has changed it.
func (l *Loader) remove(ctx context.Context, c *registration) error {
	var e *registry.Error
	current, err := l.registry.CRD(ctx, l.o.Catalog, c.crd, "", "")
	if err == nil && current.Revision != c.revision {
		l.log.WarnContext(ctx, "no file has this CRD any more; it stays, because another client has changed it",
			"crd", c.crd, "revision", current.Revision)
		return nil
	}
	if err == nil {
		_, err = l.registry.Delete(ctx, l.o.Catalog, c.crd, registry.Precondition{Etag: current.Etag})
	}
	switch {
	case err == nil:
		l.log.InfoContext(ctx, "deleted a CRD that no file has any more", "crd", c.crd)
		return nil
	case errors.As(err, &e) && (e.Reason == registry.CRDNotFound || e.Reason == registry.CatalogNotFound):
		l.log.DebugContext(ctx, "no file and no registry has this CRD any more", "crd", c.crd)
		return nil
	}
	return err
}

// broken reports whether a file has errors.
func (l *Loader) broken(f *file) bool {
	return f.unreadable != "" || f.errors > 0 || len(f.duplicates) > 0 || slices.ContainsFunc(f.keys, func(k key) bool {
		c := l.entries[k]
		return c != nil && c.version == f.version && c.rejected
	})
}

func (l *Loader) updateStats() {
	n := Stats{LastSuccess: l.Stats().LastSuccess}
	for _, d := range l.directories {
		if d.unreadable != "" {
			n.Broken++
		}
	}
	for _, f := range l.files {
		if l.broken(f) {
			n.Broken++
		} else {
			n.Files++
		}
	}
	for k, c := range l.entries {
		if !k.rules && c.revision != "" {
			n.CRDs++
		}
	}
	if n.Broken == 0 && l.failure == "" {
		n.LastSuccess = time.Now()
	}
	l.stats.Store(&n)
}
