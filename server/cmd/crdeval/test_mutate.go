package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/suite"
	"github.com/crdeval/crdeval/engine/suite/mutation"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// mutateFlags are the flags of mutation testing.
type mutateFlags struct {
	Mutate      bool          `help:"Also change rules and bounds of the CRDs, one at a time, and list the changes that no test detects. Needs -o text or json."`
	MutateSeed  uint64        `help:"Seed of the random choice of mutants and objects. Needs --mutate." placeholder:"N"`
	MutateLimit int           `help:"Run at most N mutants, chosen at random. Default: all. Needs --mutate." placeholder:"N"`
	MutateTime  time.Duration `help:"Stop after this time. The remaining mutants are reported as not run. Default: no limit. Needs --mutate." placeholder:"DURATION"`
	MutateTries int           `default:"1000" help:"Maximum number of objects to evaluate in each search for an object that shows the effect of a mutant. Needs --mutate."`
	MinScore    float64       `help:"Fail if less than this percentage of the mutants is killed. Needs --mutate." placeholder:"PERCENT"`
	Summary     string        `help:"Append a summary of the mutants in Markdown to this file, for example to \"$GITHUB_STEP_SUMMARY\". Needs --mutate." placeholder:"FILE"`
}

func (f *mutateFlags) validate(c *testCommand) error {
	switch {
	case !f.Mutate && *f != (mutateFlags{MutateTries: mutation.DefaultTries}):
		return errors.New("--mutate-seed, --mutate-limit, --mutate-time, --mutate-tries, --min-score and --summary need --mutate")
	case !f.Mutate:
		return nil
	case c.Output != "text" && c.Output != "json":
		return errors.New("--mutate needs -o text or json")
	case c.Server != "":
		return errors.New("--mutate cannot be used with --server: the service does not run mutants")
	case f.MutateLimit < 0 || f.MutateTime < 0 || f.MutateTries < 1:
		return errors.New("--mutate-limit and --mutate-time must not be negative, --mutate-tries must be at least 1")
	case f.MinScore < 0 || f.MinScore > 100:
		return fmt.Errorf("--min-score is %g: it must be from 0 to 100", f.MinScore)
	}
	return nil
}

// runMutants runs the mutants of the CRDs of suites.
func (c *testCommand) runMutants(
	ctx context.Context, env environment, suites []*suite.Suite,
) (*mutation.Report, error) {
	var progress *terminal.Meter
	mutants, err := mutation.Run(ctx, suites, c.CRDs, mutation.Options{
		Engine: engine.Options{Kubernetes: string(c.Kubernetes)}, Seed: c.MutateSeed, Limit: c.MutateLimit,
		Time: c.MutateTime, Tries: c.MutateTries,
		Progress: func(done, all int) {
			if progress == nil {
				progress = terminal.NewMeter("auto", terminal.Unescaped(env.stderr), all)
			}
			progress.Update(func() string { return fmt.Sprintf("%d of %d mutants", done, all) })
		}})
	if progress != nil {
		progress.End()
	}
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	if err != nil || c.Summary == "" {
		return mutants, err
	}
	return mutants, output.AppendSummary(c.Summary, string(printable([]byte(mutants.Markdown()))))
}

// lowScore returns the message for a score that is too low, "" otherwise.
func (f *mutateFlags) lowScore(mutants *mutation.Report) string {
	if mutants == nil || mutants.Score.Percent() >= f.MinScore {
		return ""
	}
	return fmt.Sprintf("the mutation score is %.1f%%, less than --min-score %g", mutants.Score.Percent(),
		f.MinScore)
}
