package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// krewManifest is a manifest of Krew (krew.googlecontainertools.github.com/v1alpha2).
type krewManifest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string `json:"version"`
		Homepage         string `json:"homepage"`
		ShortDescription string `json:"shortDescription"`
		Description      string `json:"description"`
		Platforms        []struct {
			Selector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"selector"`
			URI    string `json:"uri"`
			SHA256 string `json:"sha256"`
			Bin    string `json:"bin"`
		} `json:"platforms"`
	} `json:"spec"`
}

// TestKrew renders the manifest for a release and decodes it.
func TestKrew(t *testing.T) {
	var sums strings.Builder
	for i, system := range []string{"linux_amd64.tar.gz", "linux_arm64.tar.gz", "darwin_amd64.tar.gz",
		"darwin_arm64.tar.gz", "windows_amd64.zip", "windows_arm64.zip"} {
		fmt.Fprintf(&sums, "%064x  crdeval_1.2.3_%s\n", i+1, system)
	}
	render := func(sums string) ([]byte, error) {
		path := filepath.Join(t.TempDir(), "checksums.txt")
		if err := os.WriteFile(path, []byte(sums), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.CommandContext(t.Context(), "../../../deploy/krew/render", "v1.2.3", path).Output()
	}
	text, err := render(sums.String())
	if err != nil {
		t.Fatal(err)
	}
	var m krewManifest
	if err := yaml.UnmarshalStrict(text, &m); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if m.Kind != "Plugin" || m.Metadata.Name != "crdeval" || m.Spec.Version != "v1.2.3" ||
		len(m.Spec.ShortDescription) > 50 || len(m.Spec.Platforms) != 6 || strings.Contains(string(text), "VERSION") {
		t.Errorf("%s", text)
	}
	seen := map[string]bool{}
	for _, p := range m.Spec.Platforms {
		system := p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
		archive, binary := regexp.QuoteMeta("crdeval_1.2.3_"+system)+`\.tar\.gz$`, "crdeval"
		if p.Selector.MatchLabels["os"] == "windows" {
			archive, binary = regexp.QuoteMeta("crdeval_1.2.3_"+system)+`\.zip$`, "crdeval.exe"
		}
		if !regexp.MustCompile(`/v1\.2\.3/`+archive).MatchString(p.URI) || p.Bin != binary || len(p.SHA256) != 64 ||
			seen[system+p.SHA256] || !strings.Contains(sums.String(), p.SHA256+"  "+p.URI[strings.LastIndex(p.URI, "/")+1:]) {
			t.Errorf("%+v", p)
		}
		seen[system] = true
	}
	if _, err := render("none"); err == nil {
		t.Error("render accepts missing checksums")
	}
}
