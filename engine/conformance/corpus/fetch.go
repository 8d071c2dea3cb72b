package corpus

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// fetch downloads a module and returns the directory of its files in the module cache.
func fetch(m module) (string, error) {
	dir, err := os.MkdirTemp("", "crdeval-corpus-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.CommandContext(context.Background(), "go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = dir // outside of any module: the corpus is not a dependency
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Dir, Error string }
	if jsonErr := json.NewDecoder(bytes.NewReader(out)).Decode(&info); jsonErr != nil && err == nil {
		err = jsonErr
	}
	if info.Error != "" {
		return "", fmt.Errorf("corpus: download %s@%s: %s", m.path, m.version, info.Error)
	}
	if err != nil {
		return "", fmt.Errorf("corpus: download %s@%s: %w", m.path, m.version, err)
	}
	return info.Dir, nil
}
