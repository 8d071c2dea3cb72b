package api

import (
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine"
)

// kubernetesVersions are the versions that a catalog can have, ascending.
var kubernetesVersions = func() (all []string) {
	for minor := engine.OldestMinor; minor <= engine.LatestMinor; minor++ {
		all = append(all, kubernetesVersion(minor))
	}
	return all
}()

// kubernetesVersion returns the version with a minor: "1.34". It returns "" for 0.
func kubernetesVersion(minor int) string {
	if minor == 0 {
		return ""
	}
	return fmt.Sprintf("1.%d", minor)
}

// kubernetesMinor returns the minor of a version of a request, 0 for "".
func kubernetesMinor(version string) (int, error) {
	if version == "" {
		return 0, nil
	}
	i := slices.Index(kubernetesVersions, version)
	if i < 0 {
		return 0, invalid("kubernetes", "kubernetes is %s: it must be a version from %s to %s, or empty", quoted(version),
			kubernetesVersions[0], kubernetesVersions[len(kubernetesVersions)-1])
	}
	return engine.OldestMinor + i, nil
}
