package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestExplain runs the scripts in testdata/explain, with the output of kubectl. engine/conformance compares many more.
func TestExplain(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "explain"), UpdateScripts: *updatePages, RequireExplicitExec: true, RequireUniqueNames: true,
	})
}
