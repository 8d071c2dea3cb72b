package admission

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errTerminating is the reason to forbid creations.
var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// closed reports whether the request is a creation while the CRD is being deleted. Updates and writes to subresources
// are allowed. Upstream checks this in admission and not in validation.
//
// Upstream: customresource_handler.go, serveResource and forbidCreateAdmission.
func (p *pass) closed() bool { return p.def.Terminating && p.r.Whole && p.r.Old == nil }

// forbidden rejects such a creation. It is called at mutating admission, and again at validating admission for stage
// FINISH.
func (p *pass) forbidden() (rejected bool) {
	if !p.closed() || p.out.Rejection != nil {
		return false
	}
	name := p.r.Name
	generated := p.generated || p.r.Stage != StageFinish && slices.Contains(p.completed, "name")
	if name == "" && !generated {
		name, _ = p.metaString(p.d.Field(p.root, "metadata"), "name")
	}
	p.out.Rejection = rejectionOf(apierrors.NewForbidden(p.def.resource(), strings.Clone(name), errTerminating))
	return true
}
