package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/engine"
)

// version and stamp are the version and the commit. The linker sets them: -X main.version=v1.2.3 -X main.stamp=0123abc.
var version, stamp = "devel", ""

// commit returns the commit of the binary, from the linker or the Go tool, "" if neither knows it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if stamp != "" || !ok {
		return stamp
	}
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	if vcs["vcs.revision"] != "" && vcs["vcs.modified"] == "true" {
		return vcs["vcs.revision"] + "-modified"
	}
	return vcs["vcs.revision"]
}

func printVersion(w io.Writer) error {
	_, err := fmt.Fprintf(w, "crdeval %s (%s), Kubernetes 1.%d, %s %s/%s\n",
		version, cmp.Or(commit(), "unknown commit"), engine.LatestMinor, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

type versionCommand struct{}

// Run prints the version of crdeval, of Kubernetes and of Go.
func (versionCommand) Run(env environment) error { return printVersion(env.stdout) }

type versionFlag bool

// BeforeReset implements the hook of kong for flags that end the program.
func (versionFlag) BeforeReset(app *kong.Kong, env environment) error {
	if err := printVersion(env.stdout); err != nil {
		return err
	}
	app.Exit(0)
	return nil
}
