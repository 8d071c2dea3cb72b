package main

import (
	"context"
	"io"
	"math"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

type explainCommand struct {
	Request string   `arg:"" name:"type" help:"TYPE[.FIELD]...: a resource, by any of its names, or one of its fields, such as crontabs.spec.replicas."`
	CRDs    []string `name:"crds" help:"Files, or directories of files, with the CRDs; - is stdin." placeholder:"FILE" sep:"none"`

	APIVersion string `name:"api-version" help:"Explain it at this group and version. Default: the served version of the highest priority." placeholder:"GROUP/VERSION"`
	Recursive  bool   `short:"R" help:"List the fields of fields."`
	MaxDepth   int    `default:"0" help:"With --recursive: list that many levels of fields. Default: all." placeholder:"N"`

	KubernetesMinor int `default:"0" help:"Judge the CRDs as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	serviceFlags
}

// Help is what --help adds.
func (*explainCommand) Help() string {
	return `Prints what kubectl explain prints about a resource or a field: types, descriptions, what is required, the values of enums. With --server it is about what a catalog there publishes. Fields of lists and of maps are written without their items: crontabs.spec.containers.image.

Exit codes: 0; 1, an API server would refuse a CRD, which is then told on stderr and left out; 2, there is no such resource, version or field, something could not be read, or wrong usage.`
}

// Validate checks the usage.
func (c *explainCommand) Validate() error {
	return c.instead(c.CRDs, c.KubernetesMinor, "missing flags: --crds=FILE, or --server")
}

// Run registers the CRDs of all files and explains.
func (c *explainCommand) Run(ctx context.Context, env environment) error {
	text, failed, err := c.explain(ctx, env)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(env.stdout, text); err != nil {
		return err
	}
	if failed {
		return errRefused
	}
	return nil
}

func (c *explainCommand) explain(ctx context.Context, env environment) (text string, failed bool, err error) {
	if c.Server != "" {
		err = c.ask(ctx, func(ctx context.Context, client *crdeval.Client) error {
			answer, err := client.Presentation().Explain(ctx, &crdevalv1.ExplainRequest{
				Catalog: c.Catalog, Path: c.Request, ApiVersion: c.APIVersion, Recursive: c.Recursive, MaxDepth: int32(min(max(c.MaxDepth, math.MinInt32), math.MaxInt32)),
			})
			text = answer.GetText()
			return err
		})
		return text, false, err
	}
	e, failed, err := registered(ctx, env, c.CRDs, c.KubernetesMinor)
	if err != nil {
		return "", failed, err
	}
	text, err = engine.Explain(ctx, c.Request, engine.ExplainOptions{
		APIVersion: c.APIVersion, Recursive: c.Recursive, MaxDepth: c.MaxDepth,
	}, engine.Published(e.inOrder()...)...)
	return text, failed, err
}
