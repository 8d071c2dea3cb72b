package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/crdeval/crdeval/engine"
)

type openapiCommand struct {
	Files      []string `arg:"" help:"Files with CRDs, JSON or YAML, one or several documents each, lists too, or directories of such files; - is stdin." name:"file"`
	Spec       string   `default:"v3" enum:"v3,v2" help:"v3: the document of one version of a group; v2: the document of all."`
	APIVersion string   `name:"api-version" help:"With v3: the group and version, stable.example.com/v1. Default: the one that there is." placeholder:"GROUP/VERSION"`
	Compact    bool     `help:"On one line. Default: indented."`

	KubernetesMinor int `default:"0" help:"Judge the CRDs as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
}

// Help is what --help adds.
func (*openapiCommand) Help() string {
	return `Prints the OpenAPI document that an API server publishes about CRDs, for generators of clients and documentation: what kubectl get --raw /openapi/v3/apis/GROUP/VERSION prints. Documents of other kinds are passed over.

Exit codes: 0; 1, an API server would refuse a CRD, which is then told on stderr and left out; 2, something could not be read, or wrong usage.`
}

// Run registers the CRDs of all files and prints their document.
func (c *openapiCommand) Run(ctx context.Context, env environment) error {
	e, failed, err := registered(ctx, env, c.Files, c.KubernetesMinor)
	if err != nil {
		return err
	}
	document, err := c.document(ctx, engine.Published(e.inOrder()...), e)
	if err != nil {
		return err
	}
	text := document.JSON
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
	switch {
	case c.APIVersion == "" && len(served) == 1:
		c.APIVersion = served[0]
	case c.APIVersion == "":
		return nil, fmt.Errorf("say which document with --api-version: there are %v", served)
	case !slices.Contains(served, c.APIVersion):
		return nil, fmt.Errorf("--api-version %s: nothing is served there, but at %v", c.APIVersion, served)
	}
	group, version, _ := cutAPIVersion(c.APIVersion)
	return engine.OpenAPIV3(ctx, group, version, crds...)
}
