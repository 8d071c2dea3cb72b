package directory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/server/registry"
)

// setConversions sets the conversion rules whose file or CRD changed since they were set or rejected. The error is that
// of the registry: then the rest has to be set later.
func (l *Loader) setConversions(ctx context.Context) error {
	for _, k := range slices.SortedFunc(maps.Keys(l.entries), key.compare) {
		c := l.entries[k]
		changed := k.rules && c.file != nil && (c.version != c.file.version || c.written != l.written(k.crd) || c.waiting)
		if !changed || !l.hasManifest(ctx, c) {
			continue
		}
		m := c.file.manifests[k]
		done, had, err := l.changeConversion(ctx, k.crd, m.Document)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e := (*registry.Error)(nil)
		waiting := errors.As(err, &e) && e.Reason == registry.CRDNotFound
		if err != nil && !waiting && !isFinal(err) {
			return err
		}
		again := c.waiting && waiting && c.version == c.file.version
		c.version, c.written, c.waiting, c.rejected = c.file.version, l.written(k.crd), waiting, err != nil
		message := "conversion rules are rejected; no rules are set"
		if had {
			message = "conversion rules are rejected; the previously set rules stay"
		}
		switch reject := l.rejecter(ctx, c, message); {
		case again: // it was logged
		case waiting:
			reject(m.Line(), 0, "error", fmt.Sprintf(
				"catalog %q has no CRD %s: register it, or correct crd; the rules are set when the CRD is there", l.o.Catalog, k.crd))
		case err != nil:
			line, column := positionOf(err)
			reject(max(line, m.Line()), column, "error", err.Error())
		default:
			l.recordConversion(ctx, c, m, &done, reject)
		}
	}
	return nil
}

// recordConversion records and logs the result of setting rules. m and reject are for rejected rules.
func (l *Loader) recordConversion(
	ctx context.Context, c *registration, m *manifest, done *registry.Registration,
	reject func(line, column int, attributes ...any),
) {
	if c.rejected = done.Outcome == registry.Rejected; !c.rejected {
		c.revision = string(done.CRD.Conversion)
		level := l.log.InfoContext
		if done.Outcome == registry.Unchanged {
			level = l.log.DebugContext
		}
		level(ctx, "set conversion rules from a file", "crd", c.crd, "file", c.file.path,
			"outcome", done.Outcome, "revision", done.CRD.Revision)
		return
	}
	report := done.Report.Conversion
	rejectViolations(m, report.Violations, reject)
	for _, law := range report.Laws {
		if e := law.Counterexample; e != nil && !law.Excepted {
			reject(m.Line(), 0, "law", law.Law, "from", law.Between[0], "to", law.Between[1], "error", e.Text,
				"object", string(e.Object))
		}
	}
}

// written returns the number of the last write of a CRD from a file, 0 for none.
func (l *Loader) written(crd string) int64 {
	if c := l.entries[key{crd: crd}]; c != nil {
		return c.written
	}
	return 0
}

// changeConversion sets the conversion rules of a CRD. If other clients have not changed the CRD, the new revision
// counts as registered by the Loader. had reports whether the CRD had rules before.
func (l *Loader) changeConversion(
	ctx context.Context, crd string, rules engine.Document,
) (done registry.Registration, had bool, err error) {
	before, err := l.registry.CRD(ctx, l.o.Catalog, crd, "", "")
	if err != nil {
		return done, false, err
	}
	done, err = l.registry.SetConversion(ctx, l.o.Catalog, crd, registry.ConversionChange{Rules: rules})
	if c := l.entries[key{crd: crd}]; err == nil && done.CRD != nil && c != nil && c.revision == before.Revision {
		c.revision = done.CRD.Revision
	}
	return done, before.Conversion != nil, err
}

// removeConversion removes conversion rules unless another client has changed them.
func (l *Loader) removeConversion(ctx context.Context, c *registration) error {
	var e *registry.Error
	current, err := l.registry.CRD(ctx, l.o.Catalog, c.crd, "", "")
	if err == nil && string(current.Conversion) != c.revision {
		l.log.WarnContext(ctx, "no file has these conversion rules any more; the rules of the CRD stay, because another client has changed them",
			"crd", c.crd, "revision", current.Revision)
		return nil
	}
	if err == nil {
		_, _, err = l.changeConversion(ctx, c.crd, engine.Document{})
	}
	switch {
	case err == nil:
		l.log.InfoContext(ctx, "removed conversion rules that no file has any more", "crd", c.crd)
		return nil
	case errors.As(err, &e) && (e.Reason == registry.CRDNotFound || e.Reason == registry.CatalogNotFound):
		return nil // they went with their CRD
	}
	return err
}

// warnOfConversion logs that a CRD was registered whose conversion rules do not fit any more, unless a file has the
// rules: then they are set again, and rejected with positions.
func (l *Loader) warnOfConversion(ctx context.Context, c *registration, report *convert.Report) {
	if rules := l.entries[key{c.crd, true}]; report == nil || report.Accepted || rules != nil && rules.file != nil {
		return
	}
	for i, v := range report.Violations {
		if i == maxLogged {
			break
		}
		l.log.WarnContext(ctx, "the conversion rules of a CRD do not fit any more; its conversions fail until other rules are set",
			"crd", c.crd, "file", c.file.path, "error", v.Error())
	}
}
