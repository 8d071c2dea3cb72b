package workspace

import (
	"context"
	"errors"
	"path"
	"slices"
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
	Transformers          []string   `yaml:"transformers"`
	Generators            []string   `yaml:"generators"`
	Validators            []string   `yaml:"validators"`
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

// visit reads the kustomizations of a folder and of its parents up to the root of the repository.
func (f *Filter) visit(dir string) {
	for ; !f.visited[dir]; dir = path.Dir(dir) {
		f.visited[dir] = true
		for _, name := range []string{"kustomization.yaml", "kustomization.yml", "Kustomization"} {
			f.readKustomization(path.Join(dir, name))
		}
		if dir == f.root || dir == path.Dir(dir) {
			return
		}
	}
}

// maxKustomizationBytes bounds a kustomization.
const maxKustomizationBytes = 16 << 20

// readKustomization records a kustomization and the files that it uses, unless it is unreadable, or an object of Flux,
// which has the same kind in another group.
func (f *Filter) readKustomization(name string) {
	text, err := FileSource(f.fsys, name, name, maxKustomizationBytes).Read(context.Background())
	if err != nil {
		return
	}
	var k kustomization
	var wrongType *yaml.TypeError // the other fields are decoded
	if err := yaml.Unmarshal(text, &k); err != nil && !errors.As(err, &wrongType) ||
		k.APIVersion != "" && !strings.HasPrefix(k.APIVersion, "kustomize.config.k8s.io/") {
		return
	}
	f.uses[name] = Skip{SkipKustomization, "a kustomization"}
	use := func(kind, reason string, paths ...string) {
		for _, relative := range paths {
			if relative != "" && !strings.Contains(relative, "\n") { // an inline patch
				used := path.Join(path.Dir(name), relative)
				f.uses[used] = Skip{kind, reason + " of " + f.show(name)}
			}
		}
	}
	for _, p := range append(k.Patches, k.PatchesJSON6902...) {
		use(SkipPatch, "patch", p.Path)
	}
	use(SkipPatch, "patch", k.PatchesStrategicMerge...)
	for _, p := range k.Replacements {
		use(SkipKustomizeFile, "replacement", p.Path)
	}
	use(SkipKustomizeFile, "configuration", append(k.Configurations, k.OpenAPI.Path)...)
	use(SkipKustomizeFile, "plugin", slices.Concat(k.Transformers, k.Generators, k.Validators)...)
	for _, g := range append(k.ConfigMapGenerator, k.SecretGenerator...) {
		for _, file := range g.Files {
			use(SkipKustomizeFile, "content", file[strings.Index(file, "=")+1:])
		}
	}
	for _, c := range k.HelmCharts {
		use(SkipKustomizeFile, "Helm values", append(c.AdditionalValuesFiles, c.ValuesFile)...)
	}
	for _, relative := range k.Resources {
		f.resources[path.Join(path.Dir(name), relative)] = true
	}
}
