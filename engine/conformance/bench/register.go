package bench

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/corpus"
)

// register compares what it takes to take in a CRD, from the bytes of its manifest until objects could be judged, on one core.
func register(o Options, name string, obj *object) (string, error) {
	return registerAll(o, name, [][]byte{obj.text})
}

// largest is how many CRDs register/largest has.
const largest = 10

// registerLargest is register for the largest manifests of the corpus, one after the other.
func registerLargest(o Options, name string) (string, error) {
	manifests, err := largestManifests(o, name)
	if err != nil {
		return "", err
	}
	return registerAll(o, name, manifests)
}

func largestManifests(o Options, name string) ([][]byte, error) {
	c, err := corpus.Load(o.Progress)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.CRDs, func(a, b corpus.CRD) int { return cmp.Compare(len(b.Doc), len(a.Doc)) })
	var manifests [][]byte
	for _, crd := range c.CRDs[:largest] {
		o.progress("%s: %s of %s, %s, %d bytes", name, crd.Name, crd.Module, crd.Path, len(crd.Doc))
		manifests = append(manifests, crd.Doc)
	}
	return manifests, nil
}

// registerAll compares registrations of all manifests together, after both sides said the same of each.
func registerAll(o Options, name string, manifests [][]byte) (string, error) {
	them := newRegistrar()
	for _, manifest := range manifests {
		if err := sameRegistration(them, manifest); err != nil {
			return "", err
		}
	}
	a, b, err := compare(o, func() error {
		for _, manifest := range manifests {
			if _, _, err := registerOurs(manifest); err != nil {
				return err
			}
		}
		return nil
	}, func() error {
		for _, manifest := range manifests {
			if _, err := them.register(manifest); err != nil {
				return err
			}
		}
		return nil
	})
	return timeLine(name, a, b, runtime.GOMAXPROCS(0)), err
}

// sameRegistration makes sure that both sides accept a CRD with the same warnings.
func sameRegistration(them *registrar, manifest []byte) error {
	_, report, err := registerOurs(manifest)
	if err != nil {
		return err
	}
	theirs, err := them.register(manifest)
	if err != nil {
		return err
	}
	if ours := slices.Sorted(slices.Values(report.Warnings)); !slices.Equal(ours, slices.Sorted(slices.Values(theirs))) {
		return fmt.Errorf("ours warns of %q and upstream of %q", ours, theirs)
	}
	return nil
}

// registerOurs is all that the engine does for a registration.
func registerOurs(manifest []byte) (*engine.Definition, *engine.Report, error) {
	d, report, err := engine.Compile(context.Background(), engine.JSON(manifest), engine.Options{})
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("ours: %w", err)
	case d == nil:
		return nil, nil, fmt.Errorf("ours: %s", report.Refusal.Message)
	}
	return d, report, nil
}
