package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
)

type openapiCommand struct {
	Files      []string `arg:"" optional:"" help:"Files with CRDs, JSON or YAML, one or several documents each, lists too, or directories of such files; - is stdin." name:"file"`
	Spec       string   `default:"v3" enum:"v3,v2" help:"v3: the document of one version of a group; v2: the document of all."`
	APIVersion string   `name:"api-version" help:"With v3: the group and version, stable.example.com/v1. Default: the one that there is." placeholder:"GROUP/VERSION"`
	Compact    bool     `help:"On one line. Default: indented."`

	KubernetesMinor int `default:"0" help:"Judge the CRDs as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	serviceFlags
}

// Help is what --help adds.
func (*openapiCommand) Help() string {
	return `Prints the OpenAPI document that an API server publishes about CRDs, for generators of clients and documentation: what kubectl get --raw /openapi/v3/apis/GROUP/VERSION prints. Documents of other kinds are passed over. With --server it is what a catalog there publishes.

Exit codes: 0; 1, an API server would refuse a CRD, which is then told on stderr and left out; 2, something could not be read, or wrong usage.`
}

// Validate checks the usage.
func (c *openapiCommand) Validate() error {
	return c.instead(c.Files, c.KubernetesMinor, missingFiles)
}

// Run registers the CRDs of all files and prints their document.
func (c *openapiCommand) Run(ctx context.Context, env environment) error {
	text, failed, err := c.published(ctx, env)
	if err != nil {
		return err
	}
	if !c.Compact {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return err
		}
		text = indented.Bytes()
	}
	if _, err := fmt.Fprintf(env.stdout, "%s\n", bytes.TrimSpace(text)); err != nil {
		return err
	}
	if failed {
		return errRefused
	}
	return nil
}

// published is the document; failed says that a CRD was refused.
func (c *openapiCommand) published(ctx context.Context, env environment) (text []byte, failed bool, err error) {
	if c.Server != "" {
		text, err = c.publishedThere(ctx)
		return text, false, err
	}
	e, failed, err := registered(ctx, env, c.Files, c.KubernetesMinor)
	if err != nil {
		return nil, failed, err
	}
	document, err := c.document(ctx, engine.Published(e.inOrder()...), e)
	if err != nil {
		return nil, failed, err
	}
	return document.JSON, failed, nil
}

func (c *openapiCommand) document(ctx context.Context, crds []engine.PublishedCRD, e *embedded) (*engine.OpenAPIDocument, error) {
	if c.Spec == "v2" {
		return engine.OpenAPIV2(ctx, crds...)
	}
	var served []string
	for _, d := range e.inOrder() {
		for _, v := range d.Versions() {
			if at := d.Group() + "/" + v.Name; v.Served && !slices.Contains(served, at) {
				served = append(served, at)
			}
		}
	}
	group, version, err := c.which(served)
	if err != nil {
		return nil, err
	}
	return engine.OpenAPIV3(ctx, group, version, crds...)
}

// which is the group and version whose document is asked for, of those that there are.
func (c *openapiCommand) which(served []string) (group, version string, err error) {
	slices.Sort(served)
	at := c.APIVersion
	switch {
	case at == "" && len(served) == 1:
		at = served[0]
	case at == "":
		return "", "", fmt.Errorf("say which document with --api-version: there are %v", served)
	case !slices.Contains(served, at):
		return "", "", fmt.Errorf("--api-version %s: nothing is served there, but at %v", at, served)
	}
	group, version, _ = cutAPIVersion(at)
	return group, version, nil
}

// publishedThere asks the service.
func (c *openapiCommand) publishedThere(ctx context.Context) (text []byte, err error) {
	if c.Spec == "v2" {
		err = c.ask(ctx, func(ctx context.Context, client *crdeval.Client) error {
			text, err = client.OpenAPIV2(ctx)
			return err
		})
		return text, err
	}
	var index struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	err = c.ask(ctx, func(ctx context.Context, client *crdeval.Client) error {
		text, err := client.OpenAPIV3(ctx, "", "")
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &index)
	})
	if err != nil {
		return nil, err
	}
	var served []string
	for path := range index.Paths {
		if at, is := strings.CutPrefix(path, "apis/"); is && strings.Contains(at, "/") {
			served = append(served, at)
		}
	}
	group, version, err := c.which(served)
	if err != nil {
		return nil, err
	}
	err = c.ask(ctx, func(ctx context.Context, client *crdeval.Client) error {
		text, err = client.OpenAPIV3(ctx, group, version)
		return err
	})
	return text, err
}
