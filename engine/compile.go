package engine

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/definition"
	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/plan"
	"github.com/crdeval/crdeval/engine/internal/rule/celcheck"
	"github.com/crdeval/crdeval/engine/internal/schema"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Check reports what an API server would answer to a manifest, without compiling it. The manifest is judged as an
// update if o.Existing returns a CRD of its name, else as a creation. The error is an *Error for a manifest that
// exceeds a limit or is not a readable CRD.
func Check(ctx context.Context, manifest Document, o Options) (_ *Report, err error) {
	defer host.Recover(&err)
	shared := celcheck.NewShared()
	return checkThen(ctx, manifest, &o, shared, func(report *Report, crd *apiextensionsv1.CustomResourceDefinition) (err error) {
		c, err := compiled.CompileConversion(ctx, crd, compiled.Document(o.Conversion), o.Limits, shared)
		report.conversion = c
		return err
	})
}

// Compile checks a manifest as Check does and compiles it. The Definition is nil if the Report says that the CRD is not
// accepted.
func Compile(ctx context.Context, manifest Document, o Options) (d *Definition, _ *Report, err error) {
	defer host.Recover(&err)
	shared := celcheck.NewShared()
	report, err := checkThen(ctx, manifest, &o, shared, func(report *Report, crd *apiextensionsv1.CustomResourceDefinition) (err error) {
		if d, err = compile(ctx, crd, o, shared); err == nil {
			report.conversion = d.compiled.Conversion
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return d, report, nil
}

// compileStored implements kubeserver.CompileStored.
func compileStored(ctx context.Context, canonical []byte, o Options) (d *Definition, err error) {
	defer host.Recover(&err)
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	err = withDoc(ctx, &o, func(doc *tree.Doc) error {
		root, err := doc.ParseJSON(canonical, tree.Limits{MaxBytes: max(len(canonical), 1)})
		if err != nil {
			root = 0 // DecodeTree reports the error
		}
		if errors.Is(err, tree.ErrStopped) || !doc.Grow(compiled.CompilationMemory(doc, canonical)) {
			return tree.ErrStopped
		}
		m, err := definition.DecodeTree(canonical, doc, root)
		if err != nil {
			return failed(ReasonManifestUnreadable, "stored CRD", err)
		}
		d, err = compile(ctx, m.CRD, o, celcheck.NewShared())
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// compileAsStored implements kubeserver.CompileAsStored.
func compileAsStored(ctx context.Context, manifest Document, o Options) (
	d *Definition, crd *apiextensionsv1.CustomResourceDefinition, err error) {
	defer host.Recover(&err)
	if err := o.check(ctx); err != nil {
		return nil, nil, err
	}
	err = withDoc(ctx, &o, func(doc *tree.Doc) error {
		m, err := compiled.DecodeManifest(&definition.Source{Doc: doc}, compiled.Document(manifest), o.Limits)
		if err == nil {
			err = m.CheckStored()
		}
		if err != nil {
			return err
		}
		crd = m.CRD
		if o.Existing != nil && o.Conversion.Absent() {
			if existing := o.Existing(crd.Name); existing != nil && existing.Conversion != nil {
				o.Conversion = JSON(existing.Conversion)
			}
		}
		o.Terminating = o.Terminating || definition.IsTerminating(crd)
		definition.Normalize(crd) // the API server evaluates what it stored: a default of 1.0 becomes the integer 1
		d, err = compile(ctx, crd, o, celcheck.NewShared())
		return err
	})
	if err != nil {
		if ReasonOf(err) == "" {
			err = faultError(compiled.UnreadableManifest("manifest", err))
		}
		return nil, nil, err
	}
	return d, crd, nil
}

func (o Options) check(ctx context.Context) error {
	if err := o.Check(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return failed(ReasonItemDeadline, "the call ended before the CRD was checked", err)
	}
	return nil
}

// compile compiles an accepted CRD.
func compile(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, o Options, shared *celcheck.Shared) (
	*Definition, error) {
	canonical, err := schema.Canonical(crd)
	if err != nil {
		return nil, &Error{Reason: ReasonManifestUnreadable, Message: err.Error(), Err: err}
	}
	var parts []string
	if minor := format.Minor(o.Kubernetes); minor != 0 {
		parts = append(parts, "kubernetes minor "+strconv.Itoa(minor))
	}
	if o.Terminating {
		parts = append(parts, "terminating")
	}
	if !o.Conversion.Absent() {
		parts = append(parts, "conversion", string(o.Conversion.JSON), string(o.Conversion.YAML))
	}
	d := &Definition{observer: o.Observer, compiled: compiled.Definition{
		Inner: admission.Describe(crd, shared.Survey), Scope: crd.Spec.Scope, Limits: o.Limits,
		Versions: definition.DescribeVersions(crd, shared.Survey), Revision: schema.Revision(canonical, parts...),
		Manifest: canonical, Size: int64(len(canonical)) + definitionSize,
	}}
	if c := o.Converter; c != nil {
		d.compiled.Inner.Converter = func(
			ctx context.Context, crd string, config *apiextensionsv1.WebhookConversion, desired string, objects [][]byte,
		) ([][]byte, error) {
			if result, found, err := compiled.ConvertedAhead(ctx, objects); found {
				return result, err
			}
			return c.Convert(ctx, conversionwebhook.Request{CRD: crd, Webhook: config, DesiredAPIVersion: desired, Objects: objects})
		}
	}
	d.compiled.Inner.Terminating = o.Terminating
	if d.compiled.Conversion, err = compiled.CompileConversion(ctx, crd, compiled.Document(o.Conversion), o.Limits, shared); err != nil {
		return nil, err
	}
	if d.compiled.Conversion != nil {
		d.compiled.Inner.Declared, d.compiled.Inner.Lenses = true, d.compiled.Conversion.Lenses
		d.compiled.Size += d.compiled.Inner.Lenses.Size() + int64(len(o.Conversion.JSON)+len(o.Conversion.YAML))
	}
	if d.compiled.Desired, err = definition.NewDesiredStatus(ctx, crd, o.Limits); err != nil {
		return nil, compiled.UnreadableManifest("CRD "+crd.Name, err)
	}
	for i := range crd.Spec.Versions {
		if err := d.compileVersion(ctx, crd, i, o, shared); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Estimates of the bytes that a Definition and each of its versions retain besides manifest and plans.
const (
	definitionSize = 1 << 10
	versionSize    = 1 << 9
)

// mostCompared is the number of preceding versions whose schemas a version is compared with. It bounds the time for
// thousands of versions.
const mostCompared = 16

// compileVersion compiles one version. Versions with equal schemas share a plan.
func (d *Definition) compileVersion(
	ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, i int, o Options, shared *celcheck.Shared,
) error {
	start := time.Now()
	version, inner := &crd.Spec.Versions[i], d.compiled.Inner.Versions[i]
	s := schema.Of(version)
	for j := max(0, i-mostCompared); j < i; j++ {
		other := d.compiled.Inner.Versions[j]
		if other.HasStatus == inner.HasStatus && reflect.DeepEqual(schema.Of(&crd.Spec.Versions[j]), s) {
			inner.Plan = other.Plan
			break
		}
	}
	bytes := versionSize + inner.Selectable.Size + inner.Columns.Size()
	if inner.Plan == nil {
		p, err := plan.Compile(s, plan.Options{
			PreserveUnknown: crd.Spec.PreserveUnknownFields, StatusSubresource: inner.HasStatus,
			KubernetesMinor: format.Minor(o.Kubernetes), Rules: plan.RulesOfResource, Context: ctx, Shared: shared,
		})
		if late := ctx.Err(); late != nil {
			return failed(ReasonItemDeadline, "the call ended before the CRD was compiled", late)
		}
		if err != nil {
			return compiled.UnreadableManifest("CRD "+crd.Name+", version "+version.Name, err)
		}
		inner.Plan = p
		bytes += p.Size()
	}
	d.compiled.Size += bytes
	if d.observer != nil {
		d.observer.Compiled(ctx, host.CompileEvent{
			CRD: crd.Name, Revision: d.compiled.Revision, Version: version.Name, Duration: time.Since(start), Bytes: bytes,
		})
	}
	return nil
}
