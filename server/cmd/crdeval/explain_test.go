package main

import "testing"

// TestExplain runs the scripts in testdata/explain, with the output of kubectl. engine/conformance compares many more.
func TestExplain(t *testing.T) {
	runScripts(t, "explain", nil)
}
