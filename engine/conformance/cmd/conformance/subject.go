package main

import (
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
)

// subject is the implementation under test.
func subject() writes.Subject { return ours.Engine{} }
