package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/document"
)

// TestedObjects is the number of generated objects on which the laws of conversion are tested before rules are set, for
// each pair of versions and direction.
const TestedObjects = 200

// testSeed is always the same, so that equal calls have equal results.
const testSeed = 1

// ConversionChange sets the conversion rules of a CRD.
type ConversionChange struct {
	Rules        engine.Document // absent or null: the CRD has no rules afterwards
	Etag         string          // the CRD must have it, unless it is empty
	ValidateOnly bool            // returns what the change would do, and stores nothing
}

// SetConversion compiles conversion rules against the current manifest of a CRD and tests the laws of conversion. If the
// rules are accepted, manifest and rules become the current revision of the CRD. Setting the current rules again changes
// nothing. Report.Conversion of the result is nil if rules are removed.
func (r *Registry) SetConversion(
	ctx context.Context, catalog, name string, change ConversionChange,
) (Registration, error) {
	done, err := r.setConversion(ctx, catalog, name, change)
	if !change.ValidateOnly {
		r.Registered(SubjectConversion, done.Outcome, err)
	}
	return done, err
}

func (r *Registry) setConversion(
	ctx context.Context, catalog, name string, change ConversionChange,
) (Registration, error) {
	if err := r.awaitLatest(ctx); err != nil {
		return Registration{}, err
	}
	p := Precondition{Etag: change.Etag}
	for {
		s := r.snapshot.Load()
		c, err := s.catalog(catalog)
		if err != nil {
			return Registration{}, err
		}
		if err := p.check(c, name); err != nil {
			return Registration{}, err
		}
		j, err := r.compileConversion(ctx, c, name, change.Rules, TestedObjects)
		if err != nil {
			return Registration{}, err
		}
		var done Registration
		if change.ValidateOnly {
			done, err = r.preview(s, c, j)
		} else {
			done, err = r.writeCandidate(ctx, catalog, j, p)
		}
		if errors.Is(err, errOutdated) {
			continue
		}
		if done.CRD != nil {
			done.CRD.Conversion = j.rules
		}
		return done, err
	}
}

// compileConversion compiles the current manifest of a CRD with other conversion rules. The laws are tested on so many
// objects.
func (r *Registry) compileConversion(
	ctx context.Context, c *catalog, name string, rules engine.Document, objects int,
) (*candidate, error) {
	d, err := c.crd(name)
	if err != nil {
		return nil, err
	}
	manifest, _, err := d.current().unpack(d)
	if err != nil {
		return nil, err
	}
	j := &candidate{
		catalogEtag: c.record.Etag, name: name, old: d, rulesOnly: true, generation: d.record.Generation, stored: d.storedBy(),
	}
	err = r.Scheduler.Do(ctx, func(ctx context.Context) (err error) {
		j.definition, j.rules, j.report, err = CompileConversion(ctx, d.existing(manifest), rules, r.options(c), objects)
		return err
	})
	if err == nil && j.definition != nil {
		j.revision = revisionOf(j.definition, j.rules)
	}
	return j, err
}

// CompileConversion compiles a registered CRD with other conversion rules, and tests the laws of conversion on so many
// objects for each pair of versions and direction. It also returns the rules as JSON, nil if they are absent or null.
// The Definition is nil if Report.Conversion says that the rules are not accepted. A CRD that is not valid any more is an
// *Error with CRDRejected and its report. o.Existing is ignored.
func CompileConversion(
	ctx context.Context, existing *engine.Existing, rules engine.Document, o engine.Options, objects int,
) (d *engine.Definition, canonical []byte, report *Report, err error) {
	if canonical, err = canonicalRules(rules, o.Limits); err != nil {
		return nil, nil, nil, err
	}
	o.Existing = func(string) *engine.Existing { return existing }
	o.Conversion = engine.JSON(canonical)
	manifest := engine.JSON(existing.Manifest)
	d, compiled, err := engine.Compile(ctx, manifest, o)
	if err != nil {
		return nil, nil, nil, err
	}
	report = NewReport(compiled)
	if d == nil {
		err := rejected(report, "crd", "the rules cannot be set, because the registered CRD is not valid any more: ")
		return nil, nil, nil, err
	}
	if report, err = judgeRules(ctx, manifest, d, report, rules, o, objects); err != nil {
		return nil, nil, nil, err
	}
	if c := report.Conversion; c != nil && !c.Accepted {
		d = nil
	}
	return d, canonical, report, nil
}

// judgeRules completes the report of a compiled manifest with rules: it tests the laws on so many objects, or finds the
// positions of violations in the given text of the rules.
func judgeRules(
	ctx context.Context, manifest engine.Document, d *engine.Definition, report *Report, rules engine.Document,
	o engine.Options, objects int,
) (_ *Report, err error) {
	switch c := report.Conversion; {
	case c != nil && !c.Accepted:
		o.Conversion = rules
		checked, err := engine.Check(ctx, manifest, o)
		if err != nil {
			return nil, err
		}
		return NewReport(checked), nil
	case c == nil || objects == 0:
		return report, nil
	}
	tested := *report.Conversion
	if tested.Laws, err = convert.Test(ctx, d, objects, testSeed); err != nil {
		return nil, err
	}
	for _, law := range tested.Laws {
		tested.Accepted = tested.Accepted && (law.Counterexample == nil || law.Excepted)
	}
	return &Report{Report: report.Report, Conversion: &tested}, nil
}

// canonicalRules returns rules as JSON in which white space, comments and the order of keys in YAML do not matter. It
// returns nil for rules that are absent or null.
func canonicalRules(rules engine.Document, l engine.Limits) ([]byte, error) {
	if rules.Absent() {
		return nil, nil
	}
	_, _, err := convert.IsRules(rules, l) // has the position of a syntax error
	var text []byte
	if err == nil && rules.YAML != nil {
		var y *document.YAML
		if y, err = document.ReadYAML(document.NewText(rules.YAML, document.Position{}), l); err == nil {
			text = y.JSON()
		}
	} else if err == nil {
		var b bytes.Buffer
		err = json.Compact(&b, rules.JSON)
		text = b.Bytes()
	}
	if e := (*engine.Error)(nil); errors.As(err, &e) && e.Reason == engine.ReasonObjectUnreadable {
		unreadable := *e
		unreadable.Reason = engine.ReasonManifestUnreadable
		unreadable.Message = "conversion rules: " + strings.TrimPrefix(e.Message, "document: ")
		err = &unreadable
	}
	if string(bytes.TrimSpace(text)) == "null" {
		text = nil
	}
	return text, err
}

// pointToSetConversion replaces the error of a manifest that is not a CRD if it has conversion rules.
func pointToSetConversion(err error, manifest engine.Document, l engine.Limits) error {
	e := (*engine.Error)(nil)
	if !errors.As(err, &e) || e.Reason != engine.ReasonNotACRD {
		return err
	}
	name, isRules, _ := convert.IsRules(manifest, l)
	if !isRules {
		return err
	}
	rules := *e
	rules.Message = fmt.Sprintf("manifest: it has the conversion rules of %q: set them with SetConversion (:setConversion)", name)
	return &rules
}
