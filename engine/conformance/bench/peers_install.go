package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// peer is another validator, or a parser, as a process that serves the protocol of .tools/peers.
type peer struct {
	name  string
	about string // what a validation includes
	// install makes the peer available in .cache/peers.
	install func(d directories) error
	// command returns the process, for folders with one JSON schema and with one CRD.
	command func(d directories, schemas, crds string) []string
}

var peerList = []peer{
	{"kubeconform", "YAML parser, JSON schema", goPeer("schema", "schema-worker", "."), schemaCommand("kubeconform")},
	{"kubectl-validate", "YAML parser, defaults, schema, CEL", goPeer("kubectl-validate", "kubectl-validate-worker", "."),
		func(d directories, _, crds string) []string {
			return []string{d.binary("kubectl-validate-worker"), crds}
		}},
	{"jsonschema", "encoding/json, JSON schema", goPeer("schema", "schema-worker", "."), schemaCommand("jsonschema")},
	{"jsonschema-rs", "json.loads, JSON schema", pythonPeer, func(d directories, schemas, _ string) []string {
		return []string{filepath.Join(d.cache, "jsonschema-rs", "bin", "python"),
			filepath.Join(d.tools, "jsonschema-rs", "worker.py"), onlyFile(schemas)}
	}},
	{"ajv", "JSON.parse, JSON schema", npmPeer, func(d directories, schemas, _ string) []string {
		return []string{"node", "--expose-gc", filepath.Join(d.cache, "ajv", "worker.js"), onlyFile(schemas)}
	}},
}

// simdjson is the peer of the limit cases.
var simdjson = peer{"simdjson", "parse only", goPeer("schema", "schema-worker", "."), schemaCommand("simdjson")}

// peerNames are the names that Options.Peers selects from.
func peerNames() (names []string) {
	for _, p := range peerList {
		names = append(names, p.name)
	}
	return names
}

// selected returns the peers that the options select: all by default.
func (o Options) selected() ([]peer, error) {
	for _, name := range o.Peers {
		if !slices.Contains(peerNames(), name) {
			return nil, fmt.Errorf("no peer %q; the peers are %s", name, strings.Join(peerNames(), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(peerList), func(p peer) bool { return !o.wants(p.name) }), nil
}

func (o Options) wants(peer string) bool { return len(o.Peers) == 0 || slices.Contains(o.Peers, peer) }

// directories are where the tools are pinned and installed.
type directories struct{ root, tools, cache string }

func newDirectories() (directories, error) {
	root, err := mainModule()
	d := directories{root, filepath.Join(root, ".tools", "peers"), filepath.Join(root, ".cache", "peers")}
	if err == nil {
		err = os.MkdirAll(d.cache, 0o755)
	}
	return d, err
}

// installPeer installs a peer. An error names it.
func (o Options) installPeer(d directories, p peer) error {
	o.progress("installing %s", p.name)
	if err := p.install(d); err != nil {
		return fmt.Errorf("the peer %s cannot be installed (-peers selects others): %w", p.name, err)
	}
	return nil
}

// goPeer returns an install function that builds a package of a module in .tools/peers.
func goPeer(module, program, pkg string) func(directories) error {
	return func(d directories) error {
		return execute(filepath.Join(d.tools, module), "go", "build", "-o", d.binary(program), pkg)
	}
}

func schemaCommand(name string) func(directories, string, string) []string {
	return func(d directories, schemas, _ string) []string {
		return []string{d.binary("schema-worker"), name, schemas}
	}
}

// npmPeer installs ajv and copies its worker to it, because Node.js looks for packages beside the importing file.
func npmPeer(d directories) error {
	from, to := filepath.Join(d.tools, "ajv"), filepath.Join(d.cache, "ajv")
	return installOnce(filepath.Join(from, "package-lock.json"), to, func() error {
		for _, name := range []string{"package.json", "package-lock.json"} {
			if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
		return execute(to, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	}, func() error { return copyFile(filepath.Join(from, "worker.js"), filepath.Join(to, "worker.js")) })
}

// pythonPeer installs jsonschema-rs into a virtual environment.
func pythonPeer(d directories) error {
	pins, to := filepath.Join(d.tools, "jsonschema-rs", "requirements.txt"), filepath.Join(d.cache, "jsonschema-rs")
	return installOnce(pins, to, func() error {
		if err := execute(d.root, "python3", "-m", "venv", to); err != nil {
			return err
		}
		return execute(d.root, filepath.Join(to, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check",
			"--only-binary=:all:", "-r", pins)
	})
}

// installOnce runs install if the pins have changed since it last succeeded, and then the other functions.
func installOnce(pins, to string, install func() error, always ...func() error) error {
	want, err := os.ReadFile(pins)
	if err != nil {
		return err
	}
	stamp := filepath.Join(to, "installed")
	have, err := os.ReadFile(stamp)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if !bytes.Equal(have, want) {
		if err := errors.Join(os.RemoveAll(to), os.MkdirAll(to, 0o755)); err != nil {
			return err
		}
		if err := install(); err != nil {
			return err
		}
		if err := os.WriteFile(stamp, want, 0o600); err != nil {
			return err
		}
	}
	for _, f := range always {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// execute runs a command in a directory. An error contains its output.
func execute(dir, name string, arguments ...string) error {
	command := exec.CommandContext(context.Background(), name, arguments...)
	command.Dir, command.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", command, err, bytes.TrimSpace(out))
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// onlyFile returns the file of a folder that newInput wrote.
func onlyFile(folder string) string {
	files, _ := filepath.Glob(filepath.Join(folder, "*")) // the pattern is valid
	return strings.Join(files, " ")
}

// binary returns the path of a program in the cache.
func (d directories) binary(name string) string { return filepath.Join(d.cache, name) }
