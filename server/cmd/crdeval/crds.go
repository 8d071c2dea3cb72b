package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/server/cmd/crdeval/crdsources"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
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
	if config.sources.IsEmpty() {
		return fmt.Errorf("%s lists no URLs in %s", config.name, crdsources.Key)
	}
	if c.Action == "list" {
		complete, err := config.sources.List(env.stdout)
		if err == nil && !complete {
			fmt.Fprintln(env.stderr, "crdeval: run", crdsources.PullCommand)
			err = errRejected
		}
		return err
	}
	reader := publicDownloads
	if c.AllowPrivate {
		reader = downloads
	}
	return config.sources.Pull(ctx, env.stdout, reader)
}

// publicDownloads reads URLs of hosts with public addresses.
var publicDownloads = download.NewPublic(userAgent())
