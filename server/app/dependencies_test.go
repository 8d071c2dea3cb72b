package app

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDependenciesAreExplained: in the modules of this repository, each required module has a comment with its purpose,
// unless it is indirect. `make tidy` checks which modules are indirect.
func TestDependenciesAreExplained(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, module := range []string{".", "clients/apiserver", "clients/apiserver/e2e", "engine/conformance", "server/loadtest"} {
		file := filepath.Join(root, module, "go.mod")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		explained := 0
		for _, m := range regexp.MustCompile(`(?m)^(?:\t|require )(\S+\.\S+/\S+) v\S+(.*)$`).FindAllStringSubmatch(string(text), -1) {
			switch comment := strings.TrimSpace(m[2]); {
			case strings.HasPrefix(comment, "// indirect"):
			case !strings.HasPrefix(comment, "// "):
				t.Errorf("%s does not say what %s is for: add a comment", file, m[1])
			default:
				explained++
			}
		}
		if explained == 0 {
			t.Errorf("%s explains no module", file)
		}
	}
}
