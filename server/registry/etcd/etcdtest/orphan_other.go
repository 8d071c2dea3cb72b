//go:build !linux

package etcdtest

import "os/exec"

// dieWithParent does nothing where the system has no such thing: tests that end in any usual way end their servers.
func dieWithParent(*exec.Cmd) {}
