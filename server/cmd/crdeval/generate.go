package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/samplefiles"
)

type generateCommand struct {
	CRDs            []string `name:"crds" required:"" help:"File or directory with CRDs; - for stdin." placeholder:"FILE" sep:"none"`
	CRD             string   `name:"crd" help:"Name of the CRD. Default: all." placeholder:"NAME"`
	Version         string   `name:"crd-version" help:"Version of the objects. Default: the storage version." placeholder:"VERSION"`
	Valid           int      `default:"3" help:"Maximum number of valid objects for each CRD."`
	Invalid         int      `default:"10" help:"Maximum number of invalid objects for each CRD. Each violates one constraint."`
	Seed            uint64   `default:"0" help:"Seed of the generated values. Equal seeds give equal objects."`
	Output          string   `short:"o" default:"yaml" enum:"yaml,suite" help:"yaml: a document for each object, with a comment; suite: a suite for crdeval test."`
	OutputDir       string   `help:"Write files to this directory: one for each object, or a suite for each CRD. Default: print to stdout." placeholder:"DIRECTORY"`
	KubernetesMinor int      `default:"0" help:"Check CRDs as Kubernetes 1.N does. Default: the latest supported version." placeholder:"N"`
}

func (*generateCommand) Help() string {
	return `Generates valid objects of CRDs, and invalid objects that each violate exactly one constraint: a keyword of the schema, a rule, or an unknown field. Before an object is printed, it is evaluated with strict field validation. For a rule with oldSelf, the invalid object is an update, and the old object is printed before it. If the status is a subresource, an update of the status violates a constraint of the status. If no object violates a constraint and nothing else, the constraint is listed on stderr.

Exit code 0: success. Exit code 1: a CRD is rejected, or no valid object was found. In this case, stderr has the violations of the object with the fewest violations. Exit code 2: a document could not be read, or the usage is wrong.`
}

func (c *generateCommand) Validate() error {
	flags := c.service()
	switch {
	case c.Valid < 0 || c.Invalid < 0:
		return errors.New("--valid and --invalid must be 0 or more")
	case c.Valid+c.Invalid == 0:
		return errors.New("--valid and --invalid are 0: nothing is generated")
	case c.Output == "suite" && slices.Contains(c.CRDs, "-"):
		return errors.New("-o suite cannot be used with - (stdin): the suite contains the names of the CRD files")
	}
	return flags.validate()
}

func (c *generateCommand) service() *serviceFlags {
	return &serviceFlags{KubernetesMinor: c.KubernetesMinor, Catalog: "default"}
}

// Run registers the CRDs and generates their objects.
func (c *generateCommand) Run(ctx context.Context, env environment) error {
	failed := false
	err := c.service().registerAndPrint(ctx, env, c.CRDs, func(s *service) error {
		found := false
		for _, name := range slices.Sorted(maps.Keys(s.local.ByName)) {
			if c.CRD != "" && c.CRD != name {
				continue
			}
			found = true
			complete, err := c.generate(ctx, env, s.local.ByName[name].Definition)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			failed = failed || !complete
		}
		if !found && c.CRD != "" {
			return fmt.Errorf("--crd: the files have no accepted CRD %s", c.CRD)
		}
		return nil
	})
	if err == nil && failed {
		err = errRejected
	}
	return err
}

// generate writes the objects of a CRD. It returns false if there is no valid object.
func (c *generateCommand) generate(ctx context.Context, env environment, d *engine.Definition) (bool, error) {
	samples, err := d.Samples(ctx, engine.SampleOptions{Version: c.Version, Valid: c.Valid, Invalid: c.Invalid,
		Seed: c.Seed})
	if err != nil {
		return false, err
	}
	where := d.Name() + " " + samples.Version
	for _, constraint := range samples.Unbroken {
		fmt.Fprintf(env.stderr, "%s: no object found that violates only this constraint: %s\n", where,
			printable([]byte(constraint.String())))
	}
	if samples.Closest != nil {
		fmt.Fprintf(env.stderr, "%s: no valid object found. The object with the fewest violations has:\n", where)
		for _, v := range samples.Unsatisfied {
			fmt.Fprintf(env.stderr, "  %s\n", printable([]byte(v.Error())))
		}
		return false, nil
	}
	out := &samplefiles.Writer{Out: env.stdout, Directory: c.OutputDir}
	if c.Output == "suite" {
		return true, out.Suite(d.Name(), samples, c.CRDs, c.Seed)
	}
	return true, out.Objects(samples)
}
