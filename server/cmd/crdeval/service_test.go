package main

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestService runs the scripts in testdata/service: commands print the same with --server as for the same files. The
// command serve starts a service and sets SERVER to its address.
func TestService(t *testing.T) {
	commands := restCommands()
	serve := commands["serve"]
	commands["serve"] = func(ts *testscript.TestScript, neg bool, args []string) {
		serve(ts, neg, args)
		ts.Setenv("SERVER", "unix://"+filepath.Join(filepath.Dir(ts.Getenv(socketVariable)), "g"))
	}
	runScripts(t, "service", commands)
}
