package apiserver

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	listers "k8s.io/apiextensions-apiserver/pkg/client/listers/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// buildTimeout bounds the compilation of a CRD.
	buildTimeout = 30 * time.Second
	// registerTime is the time in which a request that has found a resource registers itself.
	registerTime = time.Second
	// drainTimeout bounds how long the requests of a replaced resource may last.
	drainTimeout = 2 * time.Minute
)

// resources builds the resources of CRDs when they are first needed, and again after the CRDs have changed. CRDs do not
// wait for each other.
type resources struct {
	lister listers.CustomResourceDefinitionLister
	build  func(context.Context, *apiextensionsv1.CustomResourceDefinition) (*resource, error)

	mu   sync.Mutex
	byID map[types.UID]*slot
}

// slot has the resource of a CRD, and what it was built of.
type slot struct {
	mu       sync.Mutex
	spec     *apiextensionsv1.CustomResourceDefinitionSpec
	accepted *apiextensionsv1.CustomResourceDefinitionNames
	ending   bool // the CRD is being deleted
	*resource

	building *building // nil: none
}

// building is a resource that is being built. All requests that need the resource wait for it and get its error.
type building struct {
	of   *apiextensionsv1.CustomResourceDefinition
	done chan struct{}
	err  error // read after done
}

var errNotBuilt = errors.New("compiling the CRD failed")

// get returns the resource of a CRD. It uses the newest state in the informer, so that an older state never replaces a
// newer one. The error is that of the lister if the CRD is gone.
func (rs *resources) get(ctx context.Context, name string) (*resource, error) {
	s, id, err := rs.slot(name)
	if err != nil {
		return nil, err
	}
	var last *building // that this call has waited for
	for {
		s.mu.Lock()
		crd, err := rs.lister.Get(name)
		b := s.building
		switch {
		case err != nil:
		case crd.UID != id: // retire has removed the slot
			err = apierrors.NewNotFound(apiextensionsv1.Resource("customresourcedefinitions"), name)
		case s.isOf(crd):
			s.spec, s.accepted = &crd.Spec, &crd.Status.AcceptedNames // the older state needs memory of its own
			found := s.resource
			s.mu.Unlock()
			return found, nil
		case last != nil && last.err != nil && last.of == crd:
			err = last.err
		case b == nil:
			b = &building{of: crd, done: make(chan struct{}), err: errNotBuilt}
			s.building = b
			s.mu.Unlock()
			rs.run(ctx, s, b)
			last = b
			continue
		}
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		select {
		case <-b.done:
			last = b
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// run builds the resource of a slot.
func (rs *resources) run(ctx context.Context, s *slot, b *building) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTimeout)
	defer cancel()
	var built *resource
	defer func() { // also after a panic
		s.mu.Lock()
		defer s.mu.Unlock()
		if built != nil {
			_ = s.retire()
			s.spec, s.accepted, s.ending, s.resource = &b.of.Spec, &b.of.Status.AcceptedNames, isEnding(b.of), built
		}
		s.building = nil
		close(b.done)
	}()
	built, b.err = rs.build(ctx, b.of)
}

// lock locks the slot when nothing is being built.
func (s *slot) lock() {
	for {
		s.mu.Lock()
		b := s.building
		if b == nil {
			return
		}
		s.mu.Unlock()
		<-b.done
	}
}

// slot returns the slot of a CRD, and the UID of the CRD. It adds a slot only while the informer has the CRD: later,
// retire would not remove it.
func (rs *resources) slot(name string) (*slot, types.UID, error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	crd, err := rs.lister.Get(name)
	if err != nil {
		return nil, "", err
	}
	s, ok := rs.byID[crd.UID]
	if !ok {
		s = &slot{}
		rs.byID[crd.UID] = s
	}
	return s, crd.UID, nil
}

// isOf reports whether the resource was built of the same CRD.
func (s *slot) isOf(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return s.resource != nil && s.ending == isEnding(crd) && equality.Semantic.DeepEqual(s.spec, &crd.Spec) &&
		equality.Semantic.DeepEqual(s.accepted, &crd.Status.AcceptedNames)
}

// isEnding reports whether a CRD is being deleted. Its Definition then rejects creations.
func isEnding(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return !crd.DeletionTimestamp.IsZero() || apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Terminating)
}

// retire destroys the resource after its requests have finished, and then closes the channel.
func (s *slot) retire() <-chan struct{} {
	retired := make(chan struct{})
	old := s.resource
	if old == nil {
		close(retired)
		return retired
	}
	s.resource = nil
	go func() {
		defer close(retired)
		time.Sleep(registerTime)
		finished := make(chan struct{})
		go func() { old.requests.Wait(); close(finished) }()
		select {
		case <-finished:
		case <-time.After(drainTimeout):
		}
		old.destroy()
	}()
	return retired
}

// retire retires the resource of a deleted CRD. It does not wait for a resource that is being built.
func (rs *resources) retire(id types.UID) <-chan struct{} {
	rs.mu.Lock()
	s, ok := rs.byID[id]
	delete(rs.byID, id)
	rs.mu.Unlock()
	retired := make(chan struct{})
	go func() {
		defer close(retired)
		if ok {
			s.lock()
			done := s.retire()
			s.mu.Unlock()
			<-done
		}
	}()
	return retired
}

// destroy ends all resources.
func (rs *resources) destroy() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, s := range rs.byID {
		s.lock()
		if s.resource != nil {
			s.destroy()
		}
		s.mu.Unlock()
		delete(rs.byID, id)
	}
}
