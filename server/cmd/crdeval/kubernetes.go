package main

import (
	"github.com/crdeval/crdeval/engine"
)

// kubernetesVersion is the value of --kubernetes: see engine.Options.
type kubernetesVersion string

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *kubernetesVersion) UnmarshalText(text []byte) error {
	if err := (engine.Options{Kubernetes: string(text)}).Check(); err != nil {
		return err
	}
	*v = kubernetesVersion(text)
	return nil
}
