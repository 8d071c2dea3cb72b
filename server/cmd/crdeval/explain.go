package main

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/crdeval/crdeval/engine/publish"
	"github.com/crdeval/crdeval/server/commandline"
)

type explainCommand struct {
	Path         string   `arg:"" name:"type" help:"TYPE[.FIELD]...: a resource or a field, such as crontabs.spec.replicas. TYPE is any name of the resource, optionally with its group: crontabs.stable.example.com."`
	CRDs         []string `name:"crds" help:"File or directory with CRDs; - for stdin." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	APIVersion   string   `name:"api-version" help:"Group and version. Default: the served version with the highest priority." placeholder:"GROUP/VERSION"`
	Recursive    bool     `short:"R" help:"Also list the fields of fields."`
	MaxDepth     int32    `default:"0" help:"With --recursive, maximum depth of fields. 0: unlimited." placeholder:"N"`
	serviceFlags `group:"Service"`
}

// newExplain declares crdeval explain.
func newExplain(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "explain", GroupID: groupPublish,
		Short: "Explain a resource or field of CRDs, like kubectl explain.",
		Long: `Prints what kubectl explain prints about a resource or a field: types, descriptions, required fields, enum values. With --server, explains the resources of a catalog. Fields of list items and map values follow the name of the list or map: crontabs.spec.containers.image. If several CRDs match, the first by group is explained.

Exit code 0: success. Exit code 1: a CRD is rejected. It is reported on stderr and omitted. Exit code 2: the resource, version or field does not exist, a document could not be read, or the usage is wrong.`,
		Annotations: map[string]string{commandline.Instead: "use --crds for files with CRDs"},
		Example: `  crdeval explain crontabs.spec.replicas --crds crds/
  crdeval explain crontabs -R --crds crds/`,
	}, &explainCommand{})
}

func (c *explainCommand) Validate() error {
	switch {
	case c.MaxDepth < 0:
		return errors.New("--max-depth must be 0 or more")
	case c.MaxDepth > 0 && !c.Recursive:
		return errors.New("--max-depth needs --recursive")
	}
	return c.eitherFilesOrServer(c.CRDs, "missing flags: --crds=FILE, or --server")
}

// levels returns publish.ExplainOptions.Levels.
func (c *explainCommand) levels() uint {
	if c.Recursive {
		return cmp.Or(uint(c.MaxDepth), publish.AllLevels) //nolint:gosec // not negative
	}
	return 0
}

// Run registers the CRDs and explains.
func (c *explainCommand) Run(ctx context.Context, env environment) error {
	return c.publish(ctx, env, c.CRDs, func(p publisher) error {
		text, err := p.explain(ctx, c.Path,
			publish.ExplainOptions{APIVersion: c.APIVersion, Levels: c.levels()})
		if err != nil {
			return err
		}
		_, err = io.WriteString(env.stdout, text)
		return err
	})
}
