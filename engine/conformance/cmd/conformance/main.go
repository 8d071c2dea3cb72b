// Command conformance evaluates generated CRDs and objects with upstream and with the engine, and reports differences.
//
//	go run ./cmd/conformance -n 200000 -seed 1 [-suite objects]
//
// It builds itself again with coverage of upstream's packages, runs the result, and prints which statements of upstream
// the run executed. The exit status is 1 if a case disagreed, if upstream's answers varied too often, or if a package
// missed its coverage bar. Runs of fewer than 100,000 cases only report missed bars.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/conformance/cover"
	"github.com/crdeval/crdeval/engine/conformance/generate"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
)

const mainPackage = "github.com/crdeval/crdeval/engine/conformance/cmd/conformance"

// definitionSuite is the suite that includes upstream's own tables of CRDs.
const definitionSuite = "crds"

// barFrom is the number of cases from which a missed coverage bar fails the run.
const barFrom = 100_000

func main() {
	if err := conformance(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type flags struct {
	writes.Options
	coverage, upstreamOnly, unordered, quirks bool
	faults                                    bool
	quirk                                     string
	store, replay                             string
	history                                   int
}

func parse() flags {
	var f flags
	flag.IntVar(&f.N, "n", 10_000, "cases: registrations, objects and expressions, of the one suite or of all together")
	flag.Uint64Var(&f.Seed, "seed", 1, "seed of all generators")
	flag.StringVar(&f.Suite, "suite", "", "the one suite to run: objects, updates, crds, promises, cel, selectors, scale, diff, conversion, tables, openapi or metamorphic")
	flag.StringVar(&f.Generator, "generator", "", "the one generator of a suite to run")
	flag.IntVar(&f.Limit, "limit", 20, "distinct disagreements after which a suite ends")
	flag.StringVar(&f.Out, "out", "out", "folder for reproducers and for the list of statements that were not reached")
	flag.IntVar(&f.Workers, "workers", 0, "goroutines; 0: one a core")
	flag.BoolVar(&f.Quick, "quick", false, "do not shrink disagreements")
	flag.BoolVar(&f.coverage, "coverage", true, "measure which of upstream's statements are reached")
	flag.BoolVar(&f.upstreamOnly, "upstream-only", false, "exercise upstream alone: what do the generators reach")
	flag.BoolVar(&f.unordered, "unordered", false, "print the cases in which the answers of upstream vary")
	flag.BoolVar(&f.quirks, "quirks", false, "switch off each reproduced quirk in turn and expect the run to notice (needs -tags quirks)")
	flag.BoolVar(&f.faults, "faults", false, "plant each fault of the suite metamorphic in turn and expect its histories to find it")
	flag.StringVar(&f.quirk, "quirk", "", "with -quirks: the name of the one quirk to switch off")
	flag.StringVar(&f.store, "store", "", "suite metamorphic: the store of all histories, memory, bolt or etcd")
	flag.IntVar(&f.history, "history", -1, "suite metamorphic: the number of the one history to run")
	flag.StringVar(&f.replay, "replay", "", "suite metamorphic: run the history in this file instead of a suite")
	flag.Parse()
	f.Log = os.Stdout
	return f
}

func conformance() error {
	f := parse()
	if f.faults {
		return faults(f)
	}
	if f.replay != "" {
		return replay(f.replay)
	}
	if f.coverage && !f.quirks && os.Getenv("GOCOVERDIR") == "" {
		return covered(f)
	}
	c, err := corpus.Load(func(m string) { fmt.Fprintln(os.Stderr, "corpus: fetching", m) })
	if err != nil {
		return err
	}
	real, err := generate.NewReal(c)
	if err != nil {
		return err
	}
	if !f.upstreamOnly {
		f.Ours = subject()
	}
	if (f.Suite == "" || f.Suite == definitionSuite) && f.Generator == "" {
		groups, err := upstreamtests.Groups()
		if err != nil {
			return err
		}
		f.First = map[string][]generate.Group{definitionSuite: groups}
	}
	if f.quirks {
		return switches(f, real)
	}
	if f.unordered {
		f.Unordered = func(d *writes.Disagreement) { fmt.Println("unordered:", d.Name, d.Differences[0]) }
	}
	f.Done = func(r writes.Result) {
		fmt.Println(r)
		fmt.Println(r.Detail())
		if f.Ours != nil {
			fast, exact := ours.FastAccepted.Load(), ours.ExactAccepted.Load()
			fmt.Printf("  the fast path accepted %.1f%% of the accepted objects so far, the exact path the others\n", 100*float64(fast)/float64(max(fast+exact, 1)))
			explained := &ours.Explained
			fmt.Printf("  %d rejected CRDs and %d rejected objects so far have a violation; %d positions were looked up\n",
				explained.Definitions.Load(), explained.Objects.Load(), explained.Positions.Load())
		}
	}
	results := writes.Run(real, f.Options)
	ran, failed := own(f, c, real)
	checked, broken := promised(f, c)
	failed = failed || broken
	if len(results) == 0 && !ran && !checked {
		return fmt.Errorf("no suite %q with a generator %q", f.Suite, f.Generator)
	}
	for _, r := range results {
		failed = failed || r.Failed()
	}
	if failed {
		return fmt.Errorf("conformance failed")
	}
	return nil
}

// covered builds this command with coverage of upstream, runs it with the same arguments and summarizes the coverage.
func covered(f flags) error {
	dir, err := os.MkdirTemp("", "crdeval-conformance-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	binary := filepath.Join(dir, "conformance")
	build := exec.CommandContext(ctx, "go", "build", "-cover", "-covermode=set", "-coverpkg="+cover.Flag(mainPackage), "-o", binary, mainPackage)
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		return fmt.Errorf("build with coverage: %w", err)
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, binary, os.Args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "GOCOVERDIR="+data)
	runErr := cmd.Run()
	met, err := summarize(f, data)
	switch {
	case runErr != nil:
		return runErr
	case err != nil:
		return err
	case !met && f.N >= barFrom && f.Suite == "":
		return fmt.Errorf("the run did not reach enough of upstream: see %s", filepath.Join(f.Out, "uncovered.txt"))
	}
	return nil
}

func summarize(f flags, data string) (bool, error) {
	list, err := os.Open("unreachable.txt")
	if err != nil {
		return false, err
	}
	defer func() { _ = list.Close() }()
	exclusions, err := cover.Exclusions(list)
	if err != nil {
		return false, err
	}
	blocks, err := cover.Load(data)
	if err != nil {
		return false, err
	}
	lines := cover.Summarize(blocks, exclusions)
	if err := os.MkdirAll(f.Out, 0o755); err != nil {
		return false, err
	}
	out, err := os.Create(filepath.Join(f.Out, "uncovered.txt"))
	if err != nil {
		return false, err
	}
	for _, l := range lines {
		for _, b := range l.Missed {
			if _, err := fmt.Fprintf(out, "%s %d-%d (%d statements)\n", b.File, b.From, b.To, b.Statements); err != nil {
				return false, err
			}
		}
	}
	return cover.Print(os.Stdout, lines), out.Close()
}
