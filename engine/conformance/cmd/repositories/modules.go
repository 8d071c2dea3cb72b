package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module is a Go module with real CRDs and objects.
type module struct{ path, version string }

// modules pins exact versions, because the module proxy serves a subset of all versions and rejects "latest".
var modules = []module{
	{"github.com/argoproj/argo-cd/v3", "v3.2.0"},
	{"istio.io/istio", "v0.0.0-20260827124520-eed52ebb66ad"},
	{"github.com/cert-manager/cert-manager", "v1.21.2"},
	{"sigs.k8s.io/gateway-api", "v1.5.1"},
	{"sigs.k8s.io/kueue", "v0.17.0"},
	{"github.com/tektoncd/pipeline", "v1.12.1"},
	{"github.com/crossplane/crossplane", "v1.20.1"},
	{"github.com/external-secrets/external-secrets", "v1.3.2"},
	{"github.com/prometheus-operator/prometheus-operator", "v0.85.0"},
	{"sigs.k8s.io/cluster-api", "v1.14.2"},
}

// name returns the last element of the path that is not a major version.
func (m module) name() string {
	parts := strings.Split(m.path, "/")
	last := parts[len(parts)-1]
	if strings.HasPrefix(last, "v") && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	return last
}

// unpack writes the files of a module below a folder, as a repository of git, and returns their folder. With link, it
// adds a dangling link, because the zip files of modules contain no links.
func (m module) unpack(ctx context.Context, dir string, link bool) (string, error) {
	root := filepath.Join(dir, m.name())
	archive, err := m.download(ctx, dir)
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(root); err != nil {
		return "", err
	}
	if err := extract(archive, m.path+"@"+m.version+"/", root); err != nil {
		return "", err
	}
	if link {
		if err := os.Symlink("nowhere/manifest.yaml", filepath.Join(root, "dangling-link.yaml")); err != nil {
			return "", err
		}
	}
	out, err := exec.CommandContext(ctx, "git", "init", "-q", root).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git init: %w: %s", err, out)
	}
	return root, nil
}

// download returns the zip file of a module in the module cache.
func (m module) download(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", m.path+"@"+m.version)
	cmd.Dir = dir // outside of any module: it is not a dependency
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.Output()
	var info struct{ Zip, Error string }
	if jsonErr := json.NewDecoder(bytes.NewReader(out)).Decode(&info); jsonErr != nil && err == nil {
		err = jsonErr
	}
	if info.Error != "" {
		return "", fmt.Errorf("download: %s", info.Error)
	}
	return info.Zip, err
}

// extract writes the files of a zip file whose names have a prefix to a folder, without the prefix.
func extract(archive, prefix, to string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer func() { _ = z.Close() }()
	for _, f := range z.File {
		name, ok := strings.CutPrefix(f.Name, prefix)
		if !ok || !filepath.IsLocal(name) || strings.HasSuffix(name, "/") {
			continue
		}
		if err := write(f, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

func write(f *zip.File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o750); err != nil {
		return err
	}
	from, err := f.Open()
	if err != nil {
		return err
	}
	content, err := io.ReadAll(from)
	if err == nil {
		err = from.Close()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}
