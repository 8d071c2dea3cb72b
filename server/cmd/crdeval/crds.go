package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/atomicfile"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

type crdsCommand struct {
	Action       string `arg:"" enum:"pull,list" help:"pull: fetch the files of crd-sources. list: print the state of each file."`
	Config       string `env:"-" file:"-" ext:"yaml,yml" help:"File with crd-sources. Default: .crdeval.yaml in the working directory, or in the nearest parent within the repository." placeholder:"FILE"`
	AllowPrivate bool   `env:"-" help:"With pull: also connect to private and local addresses, and use a proxy (HTTPS_PROXY). Only for URLs that you trust."`
}

// newCrds declares crdeval crds.
func newCrds(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "crds", GroupID: groupOther,
		Short: "Fetch the CRDs that .crdeval.yaml lists by URL.",
		Long: `Fetches the CRDs that .crdeval.yaml lists by URL:

  crd-sources:
    folder: .crdeval/crds
    urls:
    - url: https://example.com/crds.yaml
      sha256: (pull adds the digest)

Only pull fetches the URLs. admit and lsp use the fetched files like files of --crds. pull fetches each file that is missing or does not match its digest, and adds missing digests to .crdeval.yaml. If the content of a URL does not match its digest, pull does not write the file. A file has at most 64 MiB, and its download takes at most 30 seconds. pull connects only to public addresses.

Exit code 0: all files match their digests. Exit code 1: with list, a file is missing or does not match its digest. Exit code 2: a file could not be fetched, or the usage is wrong.`,
		Example: `  crdeval crds pull
  crdeval crds list`,
	}, &crdsCommand{})
}

func (c *crdsCommand) Validate() error {
	if c.AllowPrivate && c.Action != "pull" {
		return errors.New("--allow-private needs pull")
	}
	return nil
}

// Run fetches or lists the CRD sources.
func (c *crdsCommand) Run(ctx context.Context, env environment) error {
	config := &configFile{name: c.Config, found: c.Config == ""}
	if config.found {
		config.name = findConfig()
	}
	if config.name == "" {
		return fmt.Errorf("there is no %s in the working directory or in its parents within the repository: use --config",
			configName)
	}
	if err := config.read(); err != nil {
		return err
	}
	if config.sources == nil || len(config.sources.list) == 0 {
		return fmt.Errorf("%s lists no URLs in %s", config.name, crdSourcesKey)
	}
	if c.Action == "list" {
		return config.listSources(env)
	}
	reader := publicDownloads
	if c.AllowPrivate {
		reader = downloads
	}
	return config.pull(ctx, env, reader)
}

// publicDownloads reads URLs of hosts with public addresses.
var publicDownloads = download.NewPublic(userAgent())

// listSources prints the state of each file.
func (c *configFile) listSources(env environment) error {
	complete := true
	for _, s := range c.sources.list {
		state, err := s.state()
		complete = complete && err == nil
		line := fmt.Sprintf("%-10s %s %s", state, s.file, download.WithoutSecrets(s.url))
		if _, err := fmt.Fprintln(env.stdout, terminal.OneLine(line)); err != nil {
			return err
		}
	}
	if !complete {
		fmt.Fprintln(env.stderr, "crdeval: run", pullCommand)
		return errRejected
	}
	return nil
}

// pull fetches the files that are not up to date, and adds missing digests to the configuration file. An error about a
// URL does not prevent the others.
func (c *configFile) pull(ctx context.Context, env environment, reader *download.Reader) error {
	if err := c.sources.makeFolder(filepath.Dir(c.name)); err != nil {
		return err
	}
	digests, failed := map[*crdURL]string{}, []error(nil)
	for _, s := range c.sources.list {
		name := terminal.OneLine(download.WithoutSecrets(s.url))
		if _, err := s.state(); err == nil {
			fmt.Fprintf(env.stdout, "%s: unchanged\n", name)
			continue
		}
		sum, err := s.fetch(ctx, reader)
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s:%d: %s: %w", c.name, s.line, name, err))
			continue
		}
		if s.sha256 == "" {
			digests[s] = sum
		}
		fmt.Fprintf(env.stdout, "%s: wrote %s\n", name, terminal.OneLine(s.file))
	}
	if len(digests) > 0 {
		failed = append(failed, c.writeDigests(digests))
	}
	return errors.Join(failed...)
}

// makeFolder makes the folder of the fetched files. It must not be outside of dir, also not by a symbolic link.
func (s *crdSources) makeFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folder, err := filepath.Rel(dir, s.folder)
	if err == nil {
		err = root.MkdirAll(folder, 0o755)
	}
	if err == nil {
		_, err = root.Stat(folder)
	}
	if err != nil {
		return fmt.Errorf("%s: folder: %w", crdSourcesKey, err)
	}
	return nil
}

// fetch fetches the file of a URL, and returns its digest.
func (s *crdURL) fetch(ctx context.Context, reader *download.Reader) (string, error) {
	content, err := reader.Fetch(ctx, s.url)
	if err != nil {
		return "", err
	}
	sum := sha256Of(content)
	if s.sha256 != "" && sum != s.sha256 {
		return "", fmt.Errorf("the content has the SHA-256 %s, and the file lists %s: "+
			"if you trust the new content, remove sha256, and run %s again", sum, s.sha256, pullCommand)
	}
	if f := workspace.Parse(workspace.Source{Name: s.url}, content, 0); len(f.CRDs) == 0 {
		return "", errors.New("the content has no CustomResourceDefinition")
	}
	return sum, replaceFile(s.file, content)
}

// replaceFile replaces a file atomically. It keeps the permissions of the file.
func replaceFile(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if err := atomicfile.Write(name, content); err != nil {
		return err
	}
	return os.Chmod(name, mode)
}
