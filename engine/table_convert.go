package engine

import (
	"bytes"
	"context"
	"errors"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/admission"
)

// MaxConversions is the largest number of objects in a ConversionRequest.
const MaxConversions = 1000

// errRecorded ends an evaluation whose conversion is done later, together with those of other objects.
var errRecorded = errors.New("the conversion was recorded")

// conversions are the conversions of the objects of a table. They are recorded first, and then done together.
type conversions struct {
	recorded [][]byte
	known    map[string]conversion // by object; nil while conversions are recorded
}

// conversion is the result for one object.
type conversion struct {
	object []byte
	err    error
}

type conversionsKey struct{}

// convert returns the known result for an object. Without one it records the object, or returns found = false.
func (c *conversions) convert(object []byte) (result conversion, found bool) {
	if c.known == nil {
		c.recorded = append(c.recorded, bytes.Clone(object))
		return conversion{err: errRecorded}, true
	}
	result, found = c.known[string(object)]
	return result, found
}

func (d *Definition) convertsByWebhook() bool {
	return d.inner.Conversion != nil && d.inner.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// convertAhead calls the webhook of the CRD for all objects that need it to be read, and returns the context in which
// reading them uses the results. It reports no errors, because reading finds them again.
func (d *Definition) convertAhead(ctx context.Context, to *admission.Version, r admission.Request, objects []Document) context.Context {
	if !d.convertsByWebhook() || d.inner.Converter == nil || len(objects) < 2 {
		return ctx
	}
	all := &conversions{}
	ctx = context.WithValue(ctx, conversionsKey{}, all)
	for i := range objects {
		var err error
		if r.Body, r.YAML, err = objects[i].text("object"); err == nil {
			_, _ = d.inner.Read(ctx, &r)
		}
	}
	all.known = make(map[string]conversion, len(all.recorded))
	for chunk := range slices.Chunk(all.recorded, MaxConversions) {
		replies, err := d.inner.Converter(ctx, d.inner.Name, d.inner.Conversion.Webhook, to.APIVersion, chunk)
		if err == nil && len(replies) != len(chunk) {
			err = &ConversionCountError{Got: len(replies), Want: len(chunk)}
		}
		for i, object := range chunk {
			result := conversion{err: err}
			if err == nil {
				result.object = replies[i]
			}
			all.known[string(object)] = result
		}
	}
	all.recorded = nil
	return ctx
}
