package compiled

import (
	"bytes"
	"context"
	"errors"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/admission"
)

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

// ConvertedAhead returns what ConvertAhead recorded for the objects of a call of a Converter.
func ConvertedAhead(ctx context.Context, objects [][]byte) (result [][]byte, found bool, err error) {
	all, ok := ctx.Value(conversionsKey{}).(*conversions)
	if !ok || len(objects) != 1 {
		return nil, false, nil
	}
	one, found := all.convert(objects[0])
	if !found {
		return nil, false, nil
	}
	return [][]byte{one.object}, true, one.err
}

// ConvertsByWebhook reports whether the conversion strategy of the CRD is Webhook.
func (d *Definition) ConvertsByWebhook() bool {
	return d.Inner.Conversion != nil && d.Inner.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// ConvertAhead calls the webhook of the CRD for all of n objects that need it to be read, and returns the context in
// which reading them uses the results. It reports no errors, because reading finds them again.
func (d *Definition) ConvertAhead(
	ctx context.Context, to *admission.Version, r admission.Request, n int, object func(i int) Document,
) context.Context {
	if !d.ConvertsByWebhook() || d.Inner.Converter == nil || n < 2 {
		return ctx
	}
	all := &conversions{}
	ctx = context.WithValue(ctx, conversionsKey{}, all)
	for i := range n {
		var err error
		if r.Body, r.YAML, err = object(i).Text("object"); err == nil {
			_, _ = d.Inner.Read(ctx, &r)
		}
	}
	all.known = make(map[string]conversion, len(all.recorded))
	for chunk := range slices.Chunk(all.recorded, conversionwebhook.MaxObjects) {
		replies, err := d.Inner.Converter(ctx, d.Inner.Name, d.Inner.Conversion.Webhook, to.APIVersion, chunk)
		if err == nil && len(replies) != len(chunk) {
			err = &conversionwebhook.CountError{Got: len(replies), Want: len(chunk)}
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
