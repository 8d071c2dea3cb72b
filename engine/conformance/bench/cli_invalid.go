package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
)

// commandInvalid counts the invalid examples of Gateway API that each tool rejects. Their authors keep them to test that
// an API server rejects them. Examples of each channel are validated with the CRDs of that channel.
func commandInvalid(o Options, name string, _ *object) (string, error) {
	return o.commands(func(w *workplace) ([]string, error) {
		module, err := corpus.Directory("sigs.k8s.io/gateway-api")
		if err != nil {
			return nil, err
		}
		examples, rejected := 0, map[string]int{}
		for _, channel := range []string{"standard", "experimental"} {
			c := &workplace{directories: w.directories, folder: filepath.Join(w.folder, channel), tools: w.tools}
			if err := c.crds(filepath.Join(module, "config/crd", channel)); err != nil {
				return nil, err
			}
			n, err := c.examples(filepath.Join(module, "hack/invalid-examples", channel))
			if err != nil {
				return nil, err
			}
			examples += n
			for _, t := range w.tools {
				invalid, err := c.rejected(t, n)
				if err != nil {
					return nil, err
				}
				rejected[t.name] += invalid
			}
		}
		line := fmt.Sprintf("%s  %d invalid examples, rejected by", name, examples)
		for _, t := range w.tools {
			line += fmt.Sprintf("  %s %d", t.name, rejected[t.name])
		}
		return []string{line}, nil
	})
}

// crds writes the CRDs of a directory, and a JSON schema for each of their versions.
func (w *workplace) crds(directory string) error {
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		manifest, err := yaml.YAMLToJSON(text)
		if err != nil {
			return err
		}
		var crd struct {
			Kind string
			Spec struct {
				Names    struct{ Kind string }
				Versions []struct{ Name string }
			}
		}
		if err := json.Unmarshal(manifest, &crd); err != nil {
			return err
		}
		if crd.Kind != "CustomResourceDefinition" {
			continue
		}
		if err := w.write("crds", filepath.Base(file), text); err != nil {
			return err
		}
		for _, v := range crd.Spec.Versions {
			schema, err := jsonSchema(manifest, v.Name)
			if err == nil {
				err = w.write("schemas", strings.ToLower(crd.Spec.Names.Kind)+"_"+v.Name+".json", schema)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// examples copies the YAML files below a directory into the folder "objects" and returns their number.
func (w *workplace) examples(directory string) (n int, err error) {
	files, err := filepath.Glob(filepath.Join(directory, "*", "*.yaml"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = w.write("objects", filepath.Base(filepath.Dir(file))+"-"+filepath.Base(file), text)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(files), err
}

// rejected runs a tool on the folder "objects" and returns how many of its n objects it rejects.
func (w *workplace) rejected(t commandTool, n int) (int, error) {
	command := exec.Command(w.binary(t.name), t.arguments("objects")...) //nolint:noctx // it ends
	command.Dir = w.folder
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull, "HOME="+w.folder)
	stdout, runErr := command.Output() // it fails for rejected objects
	valid, invalid, err := t.count(stdout)
	if err == nil && valid+invalid != n {
		err = fmt.Errorf("%d of %d objects", valid+invalid, n)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", t.name, errors.Join(err, runErr))
	}
	return invalid, nil
}
