package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

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

func versionOfProgram() string {
	return fmt.Sprintf("crdeval %s (%s), Kubernetes %s, %s %s/%s",
		version, cmp.Or(commit(), "unknown commit"), slices.Max(engine.KubernetesVersions()), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

type versionCommand struct{}

// newVersion declares crdeval version.
func newVersion(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "version", GroupID: groupOther,
		Short: "Print the version.",
	}, &versionCommand{})
}

// Run prints the version of crdeval, of Kubernetes and of Go.
func (*versionCommand) Run(_ context.Context, env environment) error {
	_, err := fmt.Fprintln(env.stdout, versionOfProgram())
	return err
}

// userAgent identifies the program to API servers.
func userAgent() string { return "crdeval/" + version }
