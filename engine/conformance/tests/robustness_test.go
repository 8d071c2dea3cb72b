package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestRobustnessPage checks that the tests in docs/robustness.md exist, and so do the golden cases and histories.
func TestRobustnessPage(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "robustness.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			if d != nil && d.IsDir() && (d.Name() == ".cache" || d.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`(?: \\(([a-z0-9-]+)\\))?").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 30 {
		t.Errorf("only %d tests", len(rows))
	}
	folders := map[string]string{"TestGolden": "../testdata/golden", "TestMetamorphicHistories": "../suites/metamorphic/testdata"}
	for _, row := range rows {
		if !declared[row[1]] {
			t.Errorf("%s does not exist", row[1])
		}
		if folder := folders[row[1]]; folder != "" {
			if _, err := os.Stat(filepath.Join(folder, row[2]+".json")); err != nil {
				t.Error(err)
			}
		}
	}
}
