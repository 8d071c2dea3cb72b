package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/engine/host"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/document"
	"github.com/crdeval/crdeval/server/flow"
	"github.com/crdeval/crdeval/server/registry"
)

// Conversion is the request of a ConversionReview of apiextensions.k8s.io.
type Conversion struct {
	Catalog string
	// APIVersion is the apiVersion of the review and of the answer.
	APIVersion string
	// UID is the uid of the request. The answer repeats it.
	UID string
	// DesiredAPIVersion is the apiVersion of the converted objects.
	DesiredAPIVersion string
	// Objects are the JSON texts of the objects. They need not be valid.
	Objects [][]byte
	// Reserve reserves bytes of memory for the answer. If it returns an error, the conversion ends. It can be called
	// concurrently.
	Reserve func(bytes int64) error
}

// Converted is the answer to a Conversion.
type Converted struct {
	// Outcome is Success or Failure.
	Outcome Outcome
	// JSON is the text of the answer, in parts.
	JSON [][]byte
}

// The outcomes of conversions.
const (
	Success Outcome = "success" // all objects are converted
	Failure Outcome = "failure" // an object cannot be converted, so an API server uses none
)

// ConvertFunc answers ConversionReviews. Errors are statuses.
type ConvertFunc func(ctx context.Context, r *Conversion) (*Converted, error)

// Converter answers ConversionReviews by the conversion rules of registered CRDs.
type Converter struct {
	Registry interface {
		View(ctx context.Context, catalog, atLeast string) (registry.View, error)
	}
	Limits engine.Limits
	// Scheduler shares CPU time between conversions and other work.
	Scheduler *flow.Scheduler
	// Observe is called for each answered review with objects. It may be nil.
	Observe func(context.Context, Observation)
}

// Observation describes an answered review.
type Observation struct {
	Catalog string
	// CRD is the name of the CRD of the objects; "" if the catalog does not have it.
	CRD string
	// Objects is the number of objects. Failed is the number of those that cannot be converted.
	Objects, Failed int
	// Reason is why the first of these objects cannot be converted. Conversion has details if they are known, or is nil.
	Reason     engine.Reason
	Conversion *conversionwebhook.Error
}

// ConvertLabel names conversions in errors, logs and metrics.
const ConvertLabel = "/webhook/Convert"

// Convert answers a review. If the reason for a failure is neither an object nor the CRD, it returns an error.
func (c *Converter) Convert(ctx context.Context, r *Conversion) (*Converted, error) {
	view, err := c.Registry.View(ctx, r.Catalog, "")
	if err != nil {
		return nil, err
	}
	if len(r.Objects) == 0 {
		return r.success(nil), nil
	}
	d, err := c.definition(ctx, view, r)
	if err != nil {
		var f *failure
		if errors.As(err, &f) {
			c.observe(ctx, Observation{Catalog: r.Catalog, CRD: f.crd, Objects: len(r.Objects), Failed: len(r.Objects), Reason: f.reason})
			return r.failure(Cut(f.text, maxFailure)), nil
		}
		return nil, err
	}
	parts := split(r.Objects)
	if err := r.convert(ctx, c.Scheduler, d, parts); err != nil {
		return nil, err
	}
	o := Observation{Catalog: r.Catalog, CRD: d.Name(), Objects: len(r.Objects)}
	text, failed, why := failureOf(parts)
	if failed > 0 {
		o.Failed, o.Reason = failed, engine.ReasonOf(why)
		errors.As(why, &o.Conversion)
	}
	c.observe(ctx, o)
	if failed > 0 {
		return r.failure(text), nil
	}
	return r.success(parts), nil
}

func (c *Converter) observe(ctx context.Context, o Observation) {
	if c.Observe != nil {
		c.Observe(ctx, o)
	}
}

// failure is why a review fails as a whole.
type failure struct {
	crd    string // "" if it is not known
	reason engine.Reason
	text   string
}

// Error returns the message.
func (f *failure) Error() string { return f.text }

// definition returns the CRD of the first object. All objects must have the same CRD.
func (c *Converter) definition(ctx context.Context, view registry.View, r *Conversion) (*engine.Definition, error) {
	apiVersion, kind, err := engine.JSON(r.Objects[0]).TypeMeta(c.Limits)
	if err != nil {
		return nil, &failure{reason: engine.ReasonOf(err), text: "objects[0]: " + err.Error()}
	}
	group, _, hasGroup := strings.Cut(apiVersion, "/")
	if !hasGroup || kind == "" {
		return nil, &failure{reason: engine.ReasonObjectUnreadable, text: fmt.Sprintf("objects[0] has the apiVersion %q and "+
			"the kind %q: they are not of a custom resource", shortened(apiVersion), shortened(kind))}
	}
	d, err := view.OfKind(ctx, group, kind, "")
	var unknown *registry.Error
	switch {
	case errors.As(err, &unknown) && noDefinition[string(unknown.Reason)]:
		return nil, &failure{reason: engine.Reason(unknown.Reason), text: unknown.Message}
	case err != nil:
		return nil, err
	case !convert.IsDeclared(d):
		return nil, &failure{d.Name(), engine.ReasonConversionUnavailable,
			d.Name() + " has no conversion rules: set them with SetConversion, or in a file of --crds"}
	}
	var versions []string
	for _, v := range d.Versions() {
		versions = append(versions, v.Name)
	}
	desired, version, _ := strings.Cut(r.DesiredAPIVersion, "/")
	if desired != d.Group() || !slices.Contains(versions, version) {
		return nil, &failure{d.Name(), engine.ReasonVersionNotFound, fmt.Sprintf("the desiredAPIVersion is %q, and %s has "+
			"the group %s and the versions %s", shortened(r.DesiredAPIVersion), d.Name(), d.Group(), strings.Join(versions, ", "))}
	}
	return d, nil
}

// part is a sequence of objects that are converted together.
type part struct {
	objects [][]byte
	first   int // index of the first object
	size    int // bytes of the objects
	out     []byte
	// failed is the number of objects that cannot be converted. failedAt is the index of the first one, and why its
	// error.
	failed, failedAt int
	why              error
}

// partBytes is the maximum size of a part with several objects. A goroutine converts a part in some milliseconds.
const partBytes = 128 << 10

func split(objects [][]byte) (parts []part) {
	for i, o := range objects {
		if n := len(parts); n == 0 || parts[n-1].size+len(o) > partBytes {
			parts = append(parts, part{first: i})
		}
		p := &parts[len(parts)-1]
		p.objects, p.size = objects[p.first:i+1], p.size+len(o)+1
	}
	return parts
}

// convert converts parts on at most as many goroutines as there are seats. Errors of objects are recorded in the parts and not
// returned.
func (r *Conversion) convert(ctx context.Context, s *flow.Scheduler, d *engine.Definition, parts []part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	_, version, _ := strings.Cut(r.DesiredAPIVersion, "/")
	var next atomic.Int64
	convertParts := func() (err error) {
		defer host.Recover(&err)
		work := s.Start(ctx)
		defer work.Close()
		for i := next.Add(1) - 1; i < int64(len(parts)) && err == nil; i = next.Add(1) - 1 {
			err = r.convertPart(ctx, work, d, version, &parts[i])
		}
		return err
	}
	work := func() {
		if err := convertParts(); err != nil {
			cancel(err)
		}
	}
	var others sync.WaitGroup
	for range min(s.Seats(), len(parts)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return context.Cause(ctx)
}

func (r *Conversion) convertPart(
	ctx context.Context, work *flow.Work, d *engine.Definition, version string, p *part,
) error {
	reserved := 0
	reserve := func(n int) error {
		if n <= reserved {
			return nil
		}
		err := r.Reserve(int64(n - reserved))
		reserved = n
		return err
	}
	capacity := p.size + p.size/8 + 1<<10
	if err := reserve(capacity); err != nil {
		return err
	}
	p.out = make([]byte, 0, capacity)
	for i, object := range p.objects {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		before := len(p.out)
		if p.first+i > 0 {
			p.out = append(p.out, ',')
		}
		var out []byte
		err := work.Item(func(ctx context.Context) (err error) {
			out, err = convert.Append(ctx, d, p.out, object, version, false)
			return err
		})
		switch {
		case err == nil:
			p.out = out
			if err := reserve(cap(out)); err != nil {
				return err
			}
			continue
		case engine.ReasonOf(err) == engine.ReasonInternal:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		p.out = p.out[:before]
		if p.failed++; p.failed == 1 {
			p.failedAt, p.why = p.first+i, err
		}
	}
	return nil
}

// maxFailure is the maximum length of the message of a failure, in code points.
const maxFailure = 2048

// failureOf returns a message with the error of the first object that cannot be converted, and the number of the
// others; the number of all of them; and that error. It returns "", 0 and nil if all objects are converted.
func failureOf(parts []part) (text string, failed int, why error) {
	for i := range parts {
		p := &parts[i]
		if failed == 0 && p.failed > 0 {
			text, why = p.why.Error(), p.why
			switch engine.ReasonOf(p.why) {
			case engine.ReasonConversionFailed, engine.ReasonConversionUnavailable: // which name the object
			default:
				text = fmt.Sprintf("objects[%d]: %s", p.failedAt, text)
			}
			if limit, is := errors.AsType[*document.LimitError](p.why); is {
				text += " (the limit " + limit.Name + ")"
			}
			text = Cut(text, maxFailure)
		}
		failed += p.failed
	}
	switch failed {
	case 0, 1:
		return text, failed, why
	case 2:
		return text + " (another object fails, too)", failed, why
	}
	return fmt.Sprintf("%s (%d other objects fail, too)", text, failed-1), failed, why
}

func (r *Conversion) success(parts []part) *Converted {
	c := &Converted{Outcome: Success, JSON: make([][]byte, 0, len(parts)+2)}
	c.JSON = append(c.JSON, r.head())
	for i := range parts {
		c.JSON = append(c.JSON, parts[i].out)
	}
	c.JSON = append(c.JSON, tail(&metav1.Status{Status: metav1.StatusSuccess}))
	return c
}

func (r *Conversion) failure(text string) *Converted {
	status := &metav1.Status{Status: metav1.StatusFailure, Message: Printable(text)}
	return &Converted{Outcome: Failure, JSON: [][]byte{r.head(), tail(status)}}
}

// head returns the beginning of the answer, up to the converted objects.
func (r *Conversion) head() []byte {
	dst := document.AppendString([]byte(`{"kind":"ConversionReview","apiVersion":`), r.APIVersion)
	dst = document.AppendString(append(dst, `,"response":{"uid":`...), r.UID)
	return append(dst, `,"convertedObjects":[`...)
}

// tail returns what follows the converted objects.
func tail(result *metav1.Status) []byte {
	text, _ := json.Marshal(result) // texts always encode
	return append(append([]byte(`],"result":`), text...), `}}`...)
}
