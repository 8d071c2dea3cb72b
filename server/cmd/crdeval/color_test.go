package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGoldenColors compares text with colours with testdata/golden/colors.txt, in which \e is the escape character.
func TestGoldenColors(t *testing.T) {
	golden, err := filepath.Abs("testdata/golden/colors.txt")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir("testdata")
	t.Setenv("CLICOLOR_FORCE", "1")
	var got bytes.Buffer
	for _, args := range []string{
		"admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml --field-validation warn",
		"check --skip-other-kinds -v old.yaml rejected.yaml objects.yaml", "diff old.yaml new.yaml",
		"test suites/kites.yaml suites/invalid.yaml -v", "admit admit-new.yaml -o github",
	} {
		_, stdout, _ := invoke(t, "", strings.Fields(args)...)
		fmt.Fprintf(&got, "$ crdeval %s\n%s", args, stdout)
	}
	text := strings.ReplaceAll(got.String(), "\x1b", `\e`)
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != text {
		t.Errorf("%v got\n%s", err, text)
	}
}
