package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
)

type discoverCommand struct {
	Files        []string `arg:"" optional:"" help:"Files or directories with CRDs; - for stdin." name:"file" ext:"yaml,yml,json"`
	Output       string   `short:"o" placeholder:"FORMAT" default:"text" enum:"text,wide,json" help:"text, wide: like kubectl api-resources; json: the aggregated discovery document (apidiscovery.k8s.io/v2)."`
	Categories   []string `help:"Comma-separated categories. Print only resources that are in each of them." placeholder:"NAME"`
	NoHeaders    bool     `help:"Print no headers."`
	serviceFlags `group:"Service"`
}

// newDiscover declares crdeval discover.
func newDiscover(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "discover", GroupID: groupPublish,
		Short:   "List the resources of CRDs, like kubectl api-resources.",
		Long:    `Prints the resources that an API server serves for the CRDs: name, short names, preferred version, scope, kind, and with -o wide verbs and categories. Other kinds are skipped. With --server, prints the resources of a catalog.` + publishedExitCodes,
		Example: `  crdeval discover -o wide crds/`,
	}, &discoverCommand{})
}

func (c *discoverCommand) Validate() error { return c.eitherFilesOrServer(c.Files, missingFiles) }

// Run registers the CRDs and prints their discovery document.
func (c *discoverCommand) Run(ctx context.Context, env environment) error {
	return c.publish(ctx, env, c.Files, func(p publisher) error {
		document, err := p.discover(ctx)
		if err != nil {
			return err
		}
		if c.Output == "json" {
			_, err = fmt.Fprintf(env.stdout, "%s\n", strings.TrimSpace(string(document)))
			return err
		}
		return c.print(env, document)
	})
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
