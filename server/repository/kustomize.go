package repository

import (
	"errors"
	"path/filepath"
	"strings"

	yaml "go.yaml.in/yaml/v3"
)

// kustomization has the fields of a kustomization that name files which are not resources.
type kustomization struct {
	APIVersion            string     `yaml:"apiVersion"`
	Resources             []string   `yaml:"resources"`
	Patches               []pathOnly `yaml:"patches"`
	PatchesStrategicMerge []string   `yaml:"patchesStrategicMerge"`
	PatchesJSON6902       []pathOnly `yaml:"patchesJson6902"`
	Replacements          []pathOnly `yaml:"replacements"`
	Configurations        []string   `yaml:"configurations"`
	ConfigMapGenerator    []files    `yaml:"configMapGenerator"`
	SecretGenerator       []files    `yaml:"secretGenerator"`
	HelmCharts            []struct {
		ValuesFile            string   `yaml:"valuesFile"`
		AdditionalValuesFiles []string `yaml:"additionalValuesFiles"`
	} `yaml:"helmCharts"`
	OpenAPI pathOnly `yaml:"openapi"`
}

type pathOnly struct {
	Path string `yaml:"path"`
}

type files struct {
	Files []string `yaml:"files"`
}

// visit reads the kustomizations of a directory and of its parents up to the root of the repository.
func (f *Filter) visit(dir string) {
	for ; !f.visited[dir]; dir = filepath.Dir(dir) {
		f.visited[dir] = true
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			f.readKustomization(filepath.Join(dir, name))
		}
		if dir == f.root {
			return
		}
	}
}

// maxKustomizationBytes bounds a kustomization.
const maxKustomizationBytes = 16 << 20

// readKustomization records a kustomization and the files that it uses, unless it is unreadable, or an object of Flux,
// which has the same kind in another group.
func (f *Filter) readKustomization(name string) {
	text, err := ReadRegular(name, maxKustomizationBytes)
	if err != nil {
		return
	}
	var k kustomization
	var wrongType *yaml.TypeError // the other fields are decoded
	if err := yaml.Unmarshal(text, &k); err != nil && !errors.As(err, &wrongType) ||
		k.APIVersion != "" && !strings.HasPrefix(k.APIVersion, "kustomize.config.k8s.io/") {
		return
	}
	f.uses[name] = Skipped{Kind: "kustomization", Reason: "a kustomization"}
	use := func(kind, reason string, paths ...string) {
		for _, path := range paths {
			if path != "" && !strings.Contains(path, "\n") { // an inline patch
				used := filepath.Join(filepath.Dir(name), path)
				f.uses[used] = Skipped{Kind: kind, Reason: reason + " of " + f.show(name)}
			}
		}
	}
	for _, p := range append(k.Patches, k.PatchesJSON6902...) {
		use("kustomize patch", "patch", p.Path)
	}
	use("kustomize patch", "patch", k.PatchesStrategicMerge...)
	for _, p := range k.Replacements {
		use("kustomize file", "replacement", p.Path)
	}
	use("kustomize file", "configuration", append(k.Configurations, k.OpenAPI.Path)...)
	for _, g := range append(k.ConfigMapGenerator, k.SecretGenerator...) {
		for _, file := range g.Files {
			use("kustomize file", "content", file[strings.Index(file, "=")+1:])
		}
	}
	for _, c := range k.HelmCharts {
		use("kustomize file", "Helm values", append(c.AdditionalValuesFiles, c.ValuesFile)...)
	}
	for _, path := range k.Resources { // they are manifests, also if they are the content of a ConfigMap
		delete(f.uses, filepath.Join(filepath.Dir(name), path))
	}
}
