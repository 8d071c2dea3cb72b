package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// CountReviews publishes what was answered to the reviews of admission webhooks. The function it returns counts one by the webhook and its outcome: one of webhook.Outcome, or error.
func (t *Telemetry) CountReviews() (func(webhook, outcome string), error) {
	counter, err := t.Meter.Meter(scope).Int64Counter("crdeval.webhook.reviews", metric.WithUnit("{review}"),
		metric.WithDescription("Reviews that admission webhooks were sent, by webhook and outcome; error: not answered, so that the failurePolicy decided."))
	if err != nil {
		return nil, err
	}
	type reviewed struct{ webhook, outcome string }
	known := map[reviewed]metric.AddOption{}
	for _, webhook := range []string{"mutate", "validate"} {
		for _, outcome := range []string{"allowed", "patched", "denied", "unseen", "error"} {
			if webhook == "validate" && outcome == "patched" {
				continue
			}
			known[reviewed{webhook, outcome}] = metric.WithAttributeSet(attribute.NewSet(attribute.String("webhook", webhook), attribute.String("outcome", outcome)))
			counter.Add(context.Background(), 0, known[reviewed{webhook, outcome}]) // so that a rate begins at the first one
		}
	}
	return func(webhook, outcome string) {
		if of := known[reviewed{webhook, outcome}]; of != nil {
			counter.Add(context.Background(), 1, of)
		}
	}, nil
}
