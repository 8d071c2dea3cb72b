package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

type discoverCommand struct {
	Files      []string `arg:"" optional:"" help:"Files or directories with CRDs; - for stdin." name:"file"`
	Output     string   `short:"o" default:"text" enum:"text,wide,json" help:"text, wide: like kubectl api-resources; json: the aggregated discovery document (apidiscovery.k8s.io/v2)."`
	Categories []string `help:"Comma-separated categories. Print only resources that are in each of them." placeholder:"NAME"`
	NoHeaders  bool     `help:"Print no headers."`
	serviceFlags
}

// publishedExitCodes are the exit codes of commands about published CRDs.
const publishedExitCodes = `

Exit code 0: success. Exit code 1: a CRD is rejected. It is reported on stderr and omitted. Exit code 2: a document could not be read, or the usage is wrong.`

func (*discoverCommand) Help() string {
	return `Prints the resources that an API server serves for the CRDs: name, short names, preferred version, scope, kind, and with -o wide verbs and categories. Other kinds are skipped. With --server, prints the resources of a catalog.` + publishedExitCodes
}

// missingFiles is the error for a command without files and without --server.
const missingFiles = `expected "<file> ...", or --server`

func (c *discoverCommand) Validate() error { return c.eitherFilesOrServer(c.Files, missingFiles) }

// Run registers the CRDs and prints their discovery document.
func (c *discoverCommand) Run(ctx context.Context, env environment) error {
	return c.published(ctx, env, c.Files, func(s *service) error {
		document, err := s.Discover(ctx)
		if err != nil {
			return s.fail("", err)
		}
		if c.Output == "json" {
			_, err = fmt.Fprintf(env.stdout, "%s\n", strings.TrimSpace(string(document)))
			return err
		}
		return c.print(env, document)
	})
}

// published registers the CRDs of files, if any, calls print, and returns errRejected if a CRD was rejected.
func (f *serviceFlags) published(ctx context.Context, env environment, files []string,
	print func(*service) error) error {
	s, err := f.connect()
	if err != nil {
		return err
	}
	defer s.close()
	crds, err := reader{env: env}.crds(files...)
	if err != nil {
		return err
	}
	rejected := false
	for _, crd := range crds {
		j := s.registerCRD(ctx, crd, crd.established())
		switch {
		case j.Error != "":
			return fmt.Errorf("%s: %s", crd.where(), j.Error)
		case !j.Accepted:
			rejected = true
			if err := j.print(env.stderr); err != nil {
				return err
			}
		}
	}
	if err := print(s); err != nil {
		return err
	}
	if rejected {
		return errRejected
	}
	return nil
}

// print prints a table like kubectl api-resources: each resource once, at the first version that has it.
func (c *discoverCommand) print(env environment, document []byte) error {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.stdout, 0, 8, 3, ' ', 0)
	wide := c.Output == "wide"
	headers := "NAME\tSHORTNAMES\tAPIVERSION\tNAMESPACED\tKIND"
	if wide {
		headers += "\tVERBS\tCATEGORIES"
	}
	if !c.NoHeaders {
		fmt.Fprintln(w, headers)
	}
	for _, group := range list.Items {
		printed := map[string]bool{}
		for _, version := range group.Versions { // in order of priority
			for _, r := range version.Resources {
				missing := func(category string) bool { return !slices.Contains(r.Categories, category) }
				if printed[r.Resource] || slices.ContainsFunc(c.Categories, missing) {
					continue
				}
				printed[r.Resource] = true
				row := []string{
					r.Resource, strings.Join(r.ShortNames, ","), group.Name + "/" + version.Version,
					fmt.Sprint(r.Scope == apidiscoveryv2.ScopeNamespace), r.ResponseKind.Kind,
				}
				if wide {
					row = append(row, strings.Join(r.Verbs, ","), strings.Join(r.Categories, ","))
				}
				fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
			}
		}
	}
	return w.Flush()
}

type explainCommand struct {
	Path       string   `arg:"" name:"type" help:"TYPE[.FIELD]...: a resource or a field, such as crontabs.spec.replicas. TYPE is any name of the resource."`
	CRDs       []string `name:"crds" help:"File or directory with CRDs; - for stdin." placeholder:"FILE" sep:"none"`
	APIVersion string   `name:"api-version" help:"Group and version. Default: the served version with the highest priority." placeholder:"GROUP/VERSION"`
	Recursive  bool     `short:"R" help:"Also list the fields of fields."`
	MaxDepth   int      `default:"0" help:"With --recursive, maximum depth of fields. 0: unlimited." placeholder:"N"`
	serviceFlags
}

func (*explainCommand) Help() string {
	return `Prints what kubectl explain prints about a resource or a field: types, descriptions, required fields, enum values. With --server, explains the resources of a catalog. Fields of list items and map values follow the name of the list or map: crontabs.spec.containers.image.

Exit code 0: success. Exit code 1: a CRD is rejected. It is reported on stderr and omitted. Exit code 2: the resource, version or field does not exist, a document could not be read, or the usage is wrong.`
}

func (c *explainCommand) Validate() error {
	return c.eitherFilesOrServer(c.CRDs, "missing flags: --crds=FILE, or --server")
}

// Run registers the CRDs and explains.
func (c *explainCommand) Run(ctx context.Context, env environment) error {
	return c.published(ctx, env, c.CRDs, func(s *service) error {
		answer, err := s.Presentation().Explain(ctx, &crdevalv1.ExplainRequest{
			Catalog: s.catalog, Path: c.Path, ApiVersion: c.APIVersion, Recursive: c.Recursive,
			MaxDepth: int32(min(max(c.MaxDepth, math.MinInt32), math.MaxInt32)),
		})
		if err != nil {
			return s.fail("", err)
		}
		_, err = io.WriteString(env.stdout, answer.GetText())
		return err
	})
}

type openapiCommand struct {
	Files      []string `arg:"" optional:"" help:"Files or directories with CRDs; - for stdin." name:"file"`
	Spec       string   `default:"v3" enum:"v3,v2" help:"v3: the document of one group and version; v2: the document of all groups and versions."`
	APIVersion string   `name:"api-version" help:"Group and version of the v3 document. Needed if there are several." placeholder:"GROUP/VERSION"`
	Compact    bool     `help:"Print the document on one line."`
	serviceFlags
}

func (*openapiCommand) Help() string {
	return `Prints the OpenAPI document that an API server publishes for the CRDs, as kubectl get --raw /openapi/v3/apis/GROUP/VERSION does. Use it to generate clients and documentation. Other kinds are skipped. With --server, prints the document of a catalog.` + publishedExitCodes
}

func (c *openapiCommand) Validate() error { return c.eitherFilesOrServer(c.Files, missingFiles) }

// Run registers the CRDs and prints their document.
func (c *openapiCommand) Run(ctx context.Context, env environment) error {
	return c.published(ctx, env, c.Files, func(s *service) error {
		var text []byte
		var err error
		if c.Spec == "v2" {
			text, err = s.OpenAPIV2(ctx)
		} else if text, err = s.OpenAPIV3(ctx, "", ""); err == nil {
			group, version, unserved := c.choose(text)
			if unserved != nil {
				return unserved
			}
			text, err = s.OpenAPIV3(ctx, group, version)
		}
		if err != nil {
			return s.fail("", err)
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
	case apiVersion == "" && len(served) == 1:
		apiVersion = served[0]
	case apiVersion == "":
		return "", "", fmt.Errorf("there are several documents: use --api-version with one of %v", served)
	case !slices.Contains(served, apiVersion):
		return "", "", fmt.Errorf("--api-version %s is not served: use one of %v", apiVersion, served)
	}
	return groupOf(apiVersion), versionOf(apiVersion), nil
}
