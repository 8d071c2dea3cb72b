package page

import (
	"context"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/publish"

	"github.com/crdeval/crdeval/engine"
)

// Explain returns what kubectl explain prints about the CRD's resource or one of its fields. It does not panic.
func (e *Evaluator) Explain(ctx context.Context, in ExplainInput) (out Explanation) {
	defer func() {
		if p := recover(); p != nil {
			failed := panicked(p)
			out = Explanation{Error: &failed}
		}
	}()
	whole := Input{CRD: in.CRD, Version: in.Version}
	if err := whole.check(); err != nil {
		return Explanation{Error: err}
	}
	if len(in.Path) > maxPathBytes {
		return Explanation{Error: invalid("the path has %d bytes and exceeds the limit of %d bytes", len(in.Path),
			maxPathBytes)}
	}
	ctx, cancel := e.bound(ctx)
	defer cancel()
	c, failed := e.compile(ctx, in.CRD, in.Minor)
	if failed != nil {
		return Explanation{Error: failed}
	}
	if c.definition == nil {
		err := invalid("the CRD is rejected, so kubectl explain has no output: %s", c.report.Rejection.Message)
		err.Document = DocumentCRD
		return Explanation{Error: err}
	}
	request := c.definition.Plural() + "." + c.definition.Group()
	if path := strings.TrimPrefix(in.Path, "."); path != "" {
		request += "." + path
	}
	options := publish.ExplainOptions{}
	if in.Recursive {
		options.Levels = publish.AllLevels
	}
	if in.Version != "" {
		options.APIVersion = c.definition.Group() + "/" + in.Version
	}
	text, err := publish.Explain(ctx, request, options, publish.NewCRD(c.definition, apiextensionsv1.CustomResourceDefinitionStatus{}))
	if err == nil && len(text) > maxTableBytes {
		err = &engine.Error{Reason: engine.ReasonLimitExceeded, Message: fmt.Sprintf(
			"the explanation has %d bytes and exceeds the limit of %d bytes: explain a field", len(text), maxTableBytes)}
	}
	if err != nil {
		return Explanation{Error: failure(err)}
	}
	return Explanation{Text: text}
}
