package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// Annotations of the manifests of OpenShift.
const (
	featureSetAnnotation = "release.openshift.io/feature-set"
	versionAnnotation    = "release.openshift.io/major-version"
	profilePrefix        = "include.release.openshift.io/"
)

// variant is a CRD for some feature sets.
type variant struct {
	CRDs
	manifest
}

// manifest has the fields of CRDs and FeatureGates that select variants.
type manifest struct {
	Metadata struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		FeatureSet string
		Versions   []struct {
			Name            string
			Served, Storage bool
		}
	}
	Status struct {
		FeatureGates []struct{ Enabled, Disabled []struct{ Name string } }
	}
}

func readManifest(text []byte) (m manifest, err error) {
	converted, _, err := tree.YAMLToJSON(text, limits)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(converted, &m)
}

// commaSeparated returns the parts of an annotation.
func (m *manifest) commaSeparated(annotation string) (parts []string) {
	for part := range strings.SplitSeq(m.Metadata.Annotations[annotation], ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// profile returns the first cluster profile that includes the CRD, "" for none.
func (m *manifest) profile() string {
	var all []string
	for key, value := range m.Metadata.Annotations {
		if strings.HasPrefix(key, profilePrefix) && value == "true" {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return append(all, "")[0]
}

// generatedCRDs is the directory of CRDs next to the directory tests, which has a directory of suites for each CRD.
const generatedCRDs = "zz_generated.crd-manifests"

// sets returns the variants of the CRD that have the feature gates of the suite. They are those in the files and
// directories given, or else those of the project.
func (o *openShift) sets(s *Suite, given []string) (sets [][]CRDs, err error) {
	fail := func(format string, args ...any) error { return &Error{s.File, s.Line, fmt.Sprintf(format, args...)} }
	if len(given) == 0 {
		given = []string{filepath.Join(filepath.Dir(s.File), "..", "..", generatedCRDs)}
	}
	files, err := ReadCRDs(given...)
	if err != nil {
		return nil, fail("the CRDs of the suite: %v", err)
	}
	var chosen []variant
	var versions []string
	for _, f := range files {
		m, err := readManifest(f.Text)
		if err != nil || !slices.Contains(o.crdNames, m.Metadata.Name) { // not all files are CRDs
			continue
		}
		v := variant{f, m}
		for _, version := range v.Spec.Versions {
			if !slices.Contains(versions, version.Name) {
				versions = append(versions, version.Name)
			}
		}
		matches, err := o.matches(s, &v)
		if err != nil {
			return nil, fail("%v", err)
		}
		if matches {
			chosen = append(chosen, v)
		}
	}
	switch {
	case len(versions) == 0:
		return nil, fail("no CRD %s in %s", strings.Join(o.crdNames, ", "), strings.Join(given, ", "))
	case len(chosen) == 0:
		return nil, fail("no variant of the CRD has the feature gates %s", strings.Join(o.featureGates, ", "))
	case o.version == "" && len(versions) > 1:
		return nil, fail("the CRD has the versions %s: the suite needs a version", strings.Join(versions, ", "))
	}
	for i := range chosen {
		o.originals[chosen[i].File] = chosen[i].Text
		crd, err := o.cut(&chosen[i].CRDs)
		if err != nil {
			return nil, fail("%v", err)
		}
		sets = append(sets, []CRDs{crd})
	}
	return sets, nil
}

// matches reports whether a variant has the feature gates of the suite. A gate that begins with - must be disabled.
func (o *openShift) matches(s *Suite, v *variant) (bool, error) {
	sets := v.commaSeparated(featureSetAnnotation)
	switch {
	case len(o.featureGates) == 0:
		return true, nil
	case slices.Contains(sets, "CustomNoUpgrade"): // has all features
		return !slices.ContainsFunc(o.featureGates, func(gate string) bool { return strings.HasPrefix(gate, "-") }), nil
	case v.profile() == "":
		return true, nil
	case len(sets) == 0:
		sets = []string{"Default"}
	}
	enabled, err := featureGates(filepath.Dir(s.File), v, sets)
	if err != nil {
		return false, err
	}
	for _, gate := range o.featureGates {
		name, disabled := strings.CutPrefix(gate, "-")
		on, known := enabled[name]
		if !known {
			return false, fmt.Errorf("the feature gate %s is unknown for %s", name, v.File)
		}
		if on == disabled {
			return false, nil
		}
	}
	return true, nil
}

// featureGates returns which feature gates are enabled for a variant. The directory payload-manifests/featuregates has
// them: a file for each cluster profile, feature set and range of versions. It is in a parent of the directory.
func featureGates(dir string, v *variant, sets []string) (map[string]bool, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	payload := filepath.Join("payload-manifests", "featuregates")
	for at := root; ; at = filepath.Dir(at) {
		if info, err := os.Stat(filepath.Join(at, payload)); err == nil && info.IsDir() {
			payload = filepath.Join(at, payload)
			break
		}
		if at == filepath.Dir(at) {
			return nil, fmt.Errorf("no parent of %s has a directory %s", dir, payload)
		}
	}
	enabled, profile := map[string]bool{}, v.profile()
	found := errors.New("found")
	err = filepath.WalkDir(payload, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		m, err := readManifest(text)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if _, ok := m.Metadata.Annotations[profile]; !ok || !m.hasSet(sets) || !m.overlaps(v) {
			return nil
		}
		for _, gates := range m.Status.FeatureGates[:min(1, len(m.Status.FeatureGates))] {
			for _, gate := range gates.Enabled {
				enabled[gate.Name] = true
			}
			for _, gate := range gates.Disabled {
				enabled[gate.Name] = false
			}
		}
		return found
	})
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s has no file for %s and the feature sets %s", payload, profile, strings.Join(sets, ", "))
	case !errors.Is(err, found):
		return nil, err
	}
	return enabled, nil
}

// hasSet reports whether a FeatureGate is for one of the feature sets.
func (m *manifest) hasSet(sets []string) bool {
	if set, ok := m.Metadata.Annotations[featureSetAnnotation]; ok {
		return slices.Contains(sets, set)
	}
	if m.Spec.FeatureSet == "" {
		return slices.Contains(sets, "Default")
	}
	return slices.Contains(sets, m.Spec.FeatureSet)
}

// overlaps reports whether a FeatureGate is for a major version of the CRD. A CRD without versions has all of them.
func (m *manifest) overlaps(v *variant) bool {
	of := v.commaSeparated(versionAnnotation)
	return len(of) == 0 || slices.ContainsFunc(m.commaSeparated(versionAnnotation), func(version string) bool {
		return slices.Contains(of, version)
	})
}

// patch returns the CRD of a file with JSON patches applied, then cut to the version.
func (o *openShift) patch(file string, operations []byte) (CRDs, error) {
	text, _, err := tree.YAMLToJSON(o.originals[file], limits)
	if err == nil {
		text, err = applyPatch(text, operations)
	}
	if err != nil {
		return CRDs{}, fmt.Errorf("initialCRDPatches: %w", err)
	}
	return o.cut(&CRDs{File: file, Text: text, original: o.originals[file]})
}

// cut returns a CRD with only the version of the suite, which is served and stored.
func (o *openShift) cut(crd *CRDs) (CRDs, error) {
	m, err := readManifest(crd.Text)
	if err != nil || len(m.Spec.Versions) == 1 && m.Spec.Versions[0].Served && m.Spec.Versions[0].Storage {
		return *crd, err
	}
	version := o.version
	if version == "" && len(m.Spec.Versions) == 1 {
		version = m.Spec.Versions[0].Name
	}
	var operations []map[string]any
	for i := len(m.Spec.Versions) - 1; i >= 0; i-- { // from the end, so that indexes stay the same
		at := fmt.Sprintf("/spec/versions/%d", i)
		if m.Spec.Versions[i].Name != version {
			operations = append(operations, map[string]any{"op": "remove", "path": at})
			continue
		}
		operations = append(operations, map[string]any{"op": "add", "path": at + "/served", "value": true},
			map[string]any{"op": "add", "path": at + "/storage", "value": true})
	}
	text, _, err := tree.YAMLToJSON(crd.Text, limits)
	if err != nil {
		return CRDs{}, err
	}
	patch, err := json.Marshal(operations)
	if err == nil {
		text, err = applyPatch(text, patch)
	}
	return CRDs{File: crd.File, Text: text, original: crd.Original()}, err
}
