package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/crdeval/crdeval/engine"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "devel"

// stamp is the commit, set by the linker where the Go tool sees no repository: -X main.stamp=0123abc.
var stamp = ""

// commit is the one that the binary was built from, as the linker or the Go tool was told; "" if neither was.
func commit() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}

type versionCommand struct{}

// Run prints what was built, and whose behaviour it reproduces.
func (versionCommand) Run(env environment) error {
	c := commit()
	if c == "" {
		c = "unknown commit"
	}
	_, err := fmt.Fprintf(env.stdout, "crdeval %s (%s), Kubernetes 1.%d, %s %s/%s\n", version, c, engine.LatestMinor, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
