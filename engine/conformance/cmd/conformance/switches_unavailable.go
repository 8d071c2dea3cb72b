//go:build !quirks

package main

import (
	"errors"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

func switches(flags, *generate.Real) error {
	return errors.New("-quirks needs the switches: go run -tags quirks ./cmd/conformance -quirks")
}
