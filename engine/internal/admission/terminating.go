package admission

import (
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// errTerminating is why nothing is created any more.
var errTerminating = errors.New("create not allowed while custom resource definition is terminating")

// closed reports that the write is a creation, and the CRD waits for its last objects to go. Updates, and writes to subresources, go on. An API server has
// admission say so, which is no part of validation.
//
// Upstream: customresource_handler.go, serveResource and forbidCreateAdmission.
func (p *pass) closed() bool { return p.def.Terminating && p.r.Whole && p.r.Old == nil }

// forbidden refuses such a creation. It is asked where mutating admission begins, before anything is validated, and again where validating admission does,
// for objects that come there alone.
func (p *pass) forbidden() (refused bool) {
	if !p.closed() || p.out.Refusal != nil {
		return false
	}
	name := p.r.Name
	generated := p.generated || p.r.Stage != StageFinish && slices.Contains(p.completed, "name")
	if name == "" && !generated {
		name, _ = p.metaString(p.d.Field(p.root, "metadata"), "name")
	}
	p.out.Refusal = refusalOf(apierrors.NewForbidden(p.def.resource(), strings.Clone(name), errTerminating))
	return true
}
