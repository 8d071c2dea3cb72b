package metamorphic

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
)

// encodeCase returns a case as a file: a configuration and a history.
func encodeCase(c configuration, h history) *jsontree.Node {
	return jsontree.Obj("configuration", c.encode(), "history", h.encode())
}

// decodeCase reads what encodeCase returned.
func decodeCase(n *jsontree.Node) (configuration, history, error) {
	h, err := decode(n.Get("history"))
	return decodeConfiguration(n.Get("configuration")), h, err
}

// write writes a case and returns the name of its file.
func write(dir string, seed, k uint64, n *jsontree.Node) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	name := filepath.Join(dir, fmt.Sprintf("metamorphic-%d-%d.json", seed, k))
	return name, os.WriteFile(name, append(n.JSON(), '\n'), 0o600)
}

// Replay runs the case in a file, and returns the difference between the configuration and the reference, or "".
func Replay(file string) (difference string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	n, err := jsontree.Parse(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	c, h, err := decodeCase(n)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	s, err := newPool()
	if err != nil {
		return "", err
	}
	defer s.close()
	if _, f := s.difference(c, h); f != nil {
		difference = f.difference
	}
	return difference, nil
}
