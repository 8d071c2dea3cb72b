// Package faults has patches that plant faults in crdeval. The metamorphic suite must find each of them.
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// Patches returns the names of the patches in a folder.
func Patches(folder string) ([]string, error) {
	patches, err := filepath.Glob(filepath.Join(folder, "*.patch"))
	if err == nil && len(patches) == 0 {
		err = fmt.Errorf("no patches in %s", folder)
	}
	return patches, err
}

// patched matches the files that a patch changes.
var patched = regexp.MustCompile(`(?m)^\+\+\+ b/(.+)$`)

// Apply applies a patch of the repository at root to copies of the files in dir. It returns the name of an overlay for
// go build.
func Apply(patch, root, dir string) (overlay string, err error) {
	text, err := os.ReadFile(patch)
	if err != nil {
		return "", err
	}
	if root, err = filepath.Abs(root); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, m := range patched.FindAllSubmatch(text, -1) {
		name := filepath.FromSlash(string(m[1]))
		copied := filepath.Join(dir, name)
		if err := copyFile(copied, filepath.Join(root, name)); err != nil {
			return "", fmt.Errorf("%s does not apply: %w", patch, err)
		}
		replace[filepath.Join(root, name)] = copied
	}
	if len(replace) == 0 {
		return "", fmt.Errorf("%s changes no file", patch)
	}
	apply := exec.CommandContext(context.Background(), "git", "apply", "-")
	apply.Dir, apply.Stdin = dir, bytes.NewReader(text)
	if output, err := apply.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s does not apply: %w\n%s", patch, err, output)
	}
	content, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, content, 0o600)
}

func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
