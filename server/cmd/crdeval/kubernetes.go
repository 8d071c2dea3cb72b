package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
)

// kubernetesVersion is the value of --kubernetes: a version such as 1.34, or "" for the latest supported one.
type kubernetesVersion string

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *kubernetesVersion) UnmarshalText(text []byte) error {
	parsed := kubernetesVersion(text)
	if minor := parsed.minor(); parsed != "" && (minor < engine.OldestMinor || minor > engine.LatestMinor) {
		return fmt.Errorf("%q is not a supported version of Kubernetes: use 1.%d to 1.%d", text, engine.OldestMinor, engine.LatestMinor)
	}
	*v = parsed
	return nil
}

// minor returns the number after "1.", or 0.
func (v kubernetesVersion) minor() int {
	text, _ := strings.CutPrefix(string(v), "1.")
	minor, err := strconv.ParseUint(text, 10, 16)
	if err != nil || v != kubernetesVersion(fmt.Sprintf("1.%d", minor)) {
		return 0
	}
	return int(minor)
}
