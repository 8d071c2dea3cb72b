package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
)

type discoverCommand struct {
	Files      []string `arg:"" optional:"" help:"Files with CRDs, JSON or YAML, one or several documents each, lists too, or directories of such files; - is stdin." name:"file"`
	Output     string   `short:"o" default:"text" enum:"text,wide,json" help:"text or wide, as kubectl api-resources prints it, or json: the aggregated discovery document of apidiscovery.k8s.io/v2."`
	Categories []string `help:"Only the resources of all these categories, such as all." placeholder:"NAME"`
	NoHeaders  bool     `help:"No line of headers."`

	KubernetesMinor int `default:"0" help:"Judge the CRDs as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	serviceFlags
}

// Help is what --help adds.
func (*discoverCommand) Help() string {
	return `Prints what an API server publishes about CRDs once they are established: resources at the preferred version of their group, short names, categories, scope, kind and verbs. Documents of other kinds are passed over. With --server it is what a catalog there publishes.

Exit codes: 0; 1, an API server would refuse a CRD, which is then told on stderr and left out; 2, something could not be read, or wrong usage.`
}

// Validate checks the usage.
func (c *discoverCommand) Validate() error {
	return c.instead(c.Files, c.KubernetesMinor, missingFiles)
}

// missingFiles is what is said of a command that needs files, or a service.
const missingFiles = `expected "<file> ...", or --server`

// Run registers the CRDs of all files and prints what is published of them.
func (c *discoverCommand) Run(ctx context.Context, env environment) error {
	document, failed, err := c.discover(ctx, env)
	if err != nil {
		return err
	}
	if c.Output == "json" {
		_, err = fmt.Fprintf(env.stdout, "%s\n", document)
	} else {
		err = c.print(env, document)
	}
	if err == nil && failed {
		err = errRefused
	}
	return err
}

func (c *discoverCommand) discover(ctx context.Context, env environment) (document []byte, failed bool, err error) {
	if c.Server != "" {
		err = c.ask(ctx, func(ctx context.Context, client *crdeval.Client) error {
			document, err = client.Discover(ctx)
			return err
		})
		return bytes.TrimSpace(document), false, err
	}
	e, failed, err := registered(ctx, env, c.Files, c.KubernetesMinor)
	if err != nil {
		return nil, failed, err
	}
	var announced []engine.DiscoverableCRD
	for _, d := range e.inOrder() {
		announced = append(announced, engine.DiscoverableCRD{Definition: d, Status: e.catalog.existing[d.Name()].Status})
	}
	document, _ = engine.Discover(announced...).Aggregated()
	return document, failed, nil
}

// print prints what kubectl api-resources does: of each group the version that it prefers, and of that what has no subresource.
func (c *discoverCommand) print(env environment, document []byte) error {
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal(document, &list); err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.stdout, 0, 8, 3, ' ', 0)
	headers := []string{"NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"}
	if c.Output == "wide" {
		headers = append(headers, "VERBS", "CATEGORIES")
	}
	if !c.NoHeaders {
		fmt.Fprintln(w, strings.Join(headers, "\t"))
	}
	for _, group := range list.Items {
		shown := map[string]bool{}
		for _, version := range group.Versions { // by priority: a resource is shown at the first that has it
			for _, r := range version.Resources {
				if shown[r.Resource] || !c.inCategories(r.Categories) {
					continue
				}
				shown[r.Resource] = true
				row := []string{
					r.Resource, strings.Join(r.ShortNames, ","), group.Name + "/" + version.Version,
					fmt.Sprint(r.Scope == apidiscoveryv2.ScopeNamespace), r.ResponseKind.Kind,
				}
				if c.Output == "wide" {
					row = append(row, strings.Join(r.Verbs, ","), strings.Join(r.Categories, ","))
				}
				fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
			}
		}
	}
	return w.Flush()
}

func (c *discoverCommand) inCategories(of []string) bool {
	for _, category := range c.Categories {
		if !slices.Contains(of, category) {
			return false
		}
	}
	return true
}
