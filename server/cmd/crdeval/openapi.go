package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/workspace"
)

type openapiCommand struct {
	Files        []string `arg:"" optional:"" help:"Files or directories with CRDs; - for stdin." name:"file" ext:"yaml,yml,json"`
	Spec         string   `default:"v3" enum:"v3,v2" help:"v3: the document of one group and version; v2: the document of all groups and versions."`
	APIVersion   string   `name:"api-version" help:"Group and version of the v3 document. Needed if there are several." placeholder:"GROUP/VERSION"`
	Compact      bool     `help:"Print the document on one line."`
	serviceFlags `group:"Service"`
}

// newOpenapi declares crdeval openapi.
func newOpenapi(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "openapi", GroupID: groupPublish,
		Short:   "Print the OpenAPI document of CRDs.",
		Long:    `Prints the OpenAPI document that an API server publishes for the CRDs, as kubectl get --raw /openapi/v3/apis/GROUP/VERSION does. Use it to generate clients and documentation. Other kinds are skipped. With --server, prints the document of a catalog.` + publishedExitCodes,
		Example: `  crdeval openapi --api-version stable.example.com/v1 crds/`,
	}, &openapiCommand{})
}

func (c *openapiCommand) Validate() error { return c.eitherFilesOrServer(c.Files, missingFiles) }

// Run registers the CRDs and prints their document.
func (c *openapiCommand) Run(ctx context.Context, env environment) error {
	return c.publish(ctx, env, c.Files, func(p publisher) error {
		var text []byte
		var err error
		if c.Spec == "v2" {
			text, err = p.openAPIV2(ctx)
		} else if text, err = p.openAPIV3(ctx, "", ""); err == nil {
			group, version, unserved := c.choose(text)
			if unserved != nil {
				return unserved
			}
			text, err = p.openAPIV3(ctx, group, version)
		}
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
		_, err = fmt.Fprintf(env.stdout, "%s\n", bytes.TrimSpace(text))
		return err
	})
}

// choose returns the group and version of the requested document. index is the document of /openapi/v3.
func (c *openapiCommand) choose(index []byte) (group, version string, err error) {
	var documents struct {
		Paths map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(index, &documents); err != nil {
		return "", "", err
	}
	var served []string
	for _, path := range slices.Sorted(maps.Keys(documents.Paths)) {
		if apiVersion, is := strings.CutPrefix(path, "apis/"); is && strings.Contains(apiVersion, "/") {
			served = append(served, apiVersion)
		}
	}
	apiVersion := c.APIVersion
	switch {
	case len(served) == 0:
		return "", "", errors.New("there is no document: no CRD has a served version")
	case apiVersion == "" && len(served) == 1:
		apiVersion = served[0]
	case apiVersion == "":
		return "", "", fmt.Errorf("there are several documents: use --api-version with one of %v", served)
	case !slices.Contains(served, apiVersion):
		return "", "", fmt.Errorf("--api-version %s is not served: use one of %v", apiVersion, served)
	}
	return workspace.GroupOf(apiVersion), workspace.VersionOf(apiVersion), nil
}
