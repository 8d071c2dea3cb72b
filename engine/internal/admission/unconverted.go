package admission

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/internal/lens"
)

// unconverted returns the Fault of a failed conversion. to can be an apiVersion.
func (d *Definition) unconverted(code Code, from, to string, err error) *Fault {
	c := &conversionwebhook.Error{CRD: d.Name, From: from, To: strings.TrimPrefix(to, d.Group+"/"), Err: err}
	var failed *lens.Error
	if errors.As(err, &failed) {
		c.Rule, c.Path = failed.Rule, failed.Path.Bracketed()
	}
	return &Fault{Code: code, Text: err.Error(), Cause: c}
}

// webhookFailed returns the beginning of an API server's answer if a call of a webhook for an object fails.
func webhookFailed(of schema.GroupVersionKind) string {
	return fmt.Sprintf("conversion webhook for %v failed: ", of)
}
