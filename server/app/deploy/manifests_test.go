package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/crdeval/crdeval/server/app"
)

// Every setting that a manifest makes is one that there is.
func TestDeploymentsSetWhatExists(t *testing.T) {
	parser, err := kong.New(&app.Config{}, app.KongOptions()...)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, f := range parser.Model.Flags {
		known = append(known, f.Envs...)
	}
	files, err := filepath.Glob("../../../deploy/*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`CRDEVAL_[A-Z_]+`).FindAllString(string(content), -1) {
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which is not a setting", path, name)
			}
		}
	}
	if found == 0 {
		t.Error("no settings found: this tests nothing")
	}
}
