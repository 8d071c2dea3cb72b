package main

import (
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/run"
)

// subject is the implementation under test.
func subject() run.Subject { return ours.Engine{} }
