package crdsources

import (
	"path/filepath"
	"strings"
	"testing"

	yaml "go.yaml.in/yaml/v3"
)

// TestAddDigests checks that digests are added without a change of the other text.
func TestAddDigests(t *testing.T) {
	const sum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for _, tc := range []struct{ name, text, want string }{
		{"block", "# a\ncrd-sources:\n\n  urls: # b\n  - url: https://h/a # c\n\n  # d\n  -   url: \"https://h/b\"\nrecursive: true\n",
			"# a\ncrd-sources:\n\n  urls: # b\n  - url: https://h/a # c\n    sha256: S\n\n  # d\n  -   url: \"https://h/b\"\n" +
				"      sha256: S\nrecursive: true\n"},
		{"flow", "crd-sources: {urls: [{url: https://h/a}, {url: 'https://h/é'}]} # e\n",
			"crd-sources: {urls: [{url: https://h/a, sha256: S}, {url: 'https://h/é', sha256: S}]} # e\n"},
		{"flow in block", "crd-sources:\n  urls:\n  - {url: https://h/a}\n  - {sha256: " + sum + ", url: https://h/b}\n",
			"crd-sources:\n  urls:\n  - {url: https://h/a, sha256: S}\n  - {sha256: S, url: https://h/b}\n"},
		{"no end of line", "crd-sources:\n  urls:\n  - url: https://h/a", "crd-sources:\n  urls:\n  - url: https://h/a\n    sha256: S\n"},
		{"JSON", "{\"crd-sources\": {\"urls\": [{\"url\": \"https://h/a\"}]}}",
			"{\"crd-sources\": {\"urls\": [{\"url\": \"https://h/a\", sha256: S}]}}"},
	} {
		var config yaml.Node
		if err := yaml.Unmarshal([]byte(tc.text), &config); err != nil {
			t.Fatal(err)
		}
		sources, errs := Read("config.yaml", config.Content[0].Content[1]) // of the first key
		if errs != nil {
			t.Fatalf("%s: %v", tc.name, errs)
		}
		digests := map[*source]string{}
		for _, s := range sources.list {
			if s.sha256 == "" {
				digests[s] = sum
			}
		}
		got, err := addDigests([]byte(tc.text), digests)
		if want := strings.ReplaceAll(tc.want, "S", sum); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tc.name, err, got, want)
		}
		if err := yaml.Unmarshal(got, new(any)); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// TestFileOfURL checks that the files of URLs have different names, and no name from which a path could be made.
func TestFileOfURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://h/a/crds.yaml": "crds-4fca327b.yaml", "https://h/b/crds.yaml": "crds-f81d0648.yaml", "https://h": "crds-ecffbe29.yaml",
		"https://h/..": "", "https://h/%2e%2e%2f.x": "", "https://h/a?b=/c.json": "", "https://h/" + strings.Repeat("a", 300): "",
	} {
		got := fileOfURL(url)
		if filepath.Base(got) != got || len(got) > 128 || strings.HasPrefix(got, ".") || want != "" && got != want {
			t.Errorf("%s: %s", url, got)
		}
	}
}
