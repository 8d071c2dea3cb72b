package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestExplain runs the scripts in testdata/explain. What they expect is what kubectl prints; engine/conformance compares many more explanations with kubectl's own.
func TestExplain(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "explain"), UpdateScripts: *updatePages, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}
