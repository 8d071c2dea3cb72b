package mutation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/internal/compiled"
	"github.com/crdeval/crdeval/engine/internal/goal"
	"github.com/crdeval/crdeval/engine/suite"
)

// Options select mutants. The zero value runs all.
type Options struct {
	// Engine are the options with which CRDs are compiled.
	Engine engine.Options
	// Seed selects the mutants if there is a limit, and the objects that are generated for survivors. Equal seeds give
	// equal results, unless Time ends a run.
	Seed uint64
	// Limit is the most mutants that run. 0: all. The selection is random.
	Limit int
	// Time ends the run. The remaining mutants are NotRun. 0: never.
	Time time.Duration
	// Tries bounds the objects that are evaluated for each survivor. 0 is DefaultTries.
	Tries int
	// Parallel is the number of mutants that run at once. 0: one for each core.
	Parallel int
	// Progress, if not nil, is called after each mutant, by one goroutine at a time.
	Progress func(done, all int)
}

// check returns the Fault of an invalid option, or nil.
func (o *Options) check() error {
	return cmp.Or(compiled.NotNegative("Limit", o.Limit), compiled.NotNegative("Time", o.Time),
		compiled.NotNegative("Tries", o.Tries), compiled.NotNegative("Parallel", o.Parallel))
}

// DefaultTries is the default of Options.Tries.
const DefaultTries = goal.DefaultTries

// Run makes the mutants of the CRDs of suites, and runs the tests that pass without a mutant. crds are files and
// directories in addition to those of the suites. The error is that of the context, or an *engine.Error with
// ReasonInvalidArgument for a negative option.
func Run(ctx context.Context, suites []*suite.Suite, crds []string, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, compiled.Error(err)
	}
	r := &run{options: o, groups: map[string]*group{}, files: map[string]*suiteFiles{}, report: &Report{},
		patched: map[string]*patched{}}
	for _, s := range suites {
		sets, err := s.Sets(crds)
		if err != nil {
			r.report.Errors = append(r.report.Errors, err)
			continue
		}
		for _, set := range sets {
			if err := r.prepare(ctx, set); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				r.report.Errors = append(r.report.Errors, err)
			}
		}
	}
	r.sort()
	if err := r.runAll(ctx); err != nil {
		return nil, err
	}
	for _, g := range r.order {
		r.report.Mutants = append(r.report.Mutants, g.result)
		r.report.Score.add(g.result)
	}
	return r.report, nil
}

// run is the state of Run.
type run struct {
	options Options
	report  *Report
	files   map[string]*suiteFiles
	all     []*suiteFiles // those of files, in their order
	groups  map[string]*group
	order   []*group

	mutex   sync.Mutex
	patched map[string]*patched // by the text of the CRDs
}

// patched are CRDs with patches. The mutex is held while they are compiled.
type patched struct {
	mutex     sync.Mutex
	evaluator suite.Evaluator
}

// suiteFiles are the CRDs of sets with the same files, and their tests.
type suiteFiles struct {
	crds        []*crd
	definitions []*engine.Definition
	tests       []*test
}

// test is a test that passes without a mutant.
type test struct {
	set     *suite.Set
	test    *suite.Test
	reaches map[*version]reach
	writes  []write
}

// group is a change that several variants of a CRD can have.
type group struct {
	result   *Mutant
	variants []variant
}

type variant struct {
	files  *suiteFiles
	crd    *crd
	mutant *mutant
}

// open compiles CRDs with patches, once. Different CRDs are compiled in parallel.
func (r *run) open(ctx context.Context, files []suite.CRDs) (suite.Evaluator, error) {
	key := keyOf(files)
	r.mutex.Lock()
	p := r.patched[key]
	if p == nil {
		p = &patched{}
		r.patched[key] = p
	}
	r.mutex.Unlock()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.evaluator != nil {
		return p.evaluator, nil
	}
	definitions, err := suite.Compile(ctx, files, r.options.Engine)
	if err == nil {
		p.evaluator = suite.NewEvaluator(definitions...)
	}
	return p.evaluator, err
}

func keyOf(files []suite.CRDs) (key string) {
	for i := range files {
		key += files[i].File + "\x00" + string(files[i].Text) + "\x00"
	}
	return key
}

// prepare runs the tests of a set without a mutant, and adds the mutants of its CRDs.
func (r *run) prepare(ctx context.Context, set *suite.Set) error {
	key := keyOf(set.Files)
	files := r.files[key]
	if files == nil {
		files = &suiteFiles{}
		if err := r.compile(ctx, files, set.Files); err != nil {
			return err
		}
		r.files[key] = files
		r.all = append(r.all, files)
	}
	evaluator := suite.NewEvaluator(files.definitions...)
	for _, t := range set.Suite.Tests {
		if err := ctx.Err(); err != nil {
			return err
		}
		record := &recorder{Evaluator: evaluator}
		result := set.Run(ctx, t, record, r.open)
		if r.report.Tests++; !result.Passed {
			r.report.Unused++
			continue
		}
		prepared := &test{set: set, test: t, reaches: map[*version]reach{}, writes: record.writes}
		for _, c := range files.crds {
			for _, v := range c.versions {
				prepared.reaches[v] = record.reaches(v)
			}
		}
		files.tests = append(files.tests, prepared)
	}
	return nil
}

// compile compiles the CRDs of files, and adds their mutants.
func (r *run) compile(ctx context.Context, to *suiteFiles, files []suite.CRDs) error {
	for i := range files {
		definitions, err := suite.Compile(ctx, files[i:i+1], r.options.Engine)
		if err != nil {
			return err
		}
		places := placesOf(&files[i])
		for _, d := range definitions {
			c, err := newCRD(files[i].File, d)
			if err != nil {
				return err
			}
			c.addMutants()
			to.crds, to.definitions = append(to.crds, c), append(to.definitions, d)
			for _, m := range c.mutants {
				r.add(variant{to, c, m}, places)
			}
		}
	}
	return nil
}

// add adds a mutant of a variant of a CRD.
func (r *run) add(v variant, places places) {
	m, key := v.mutant, v.crd.key(v.mutant)
	g := r.groups[key]
	if g == nil {
		g = &group{result: &Mutant{CRD: v.crd.definition.Name(), Version: m.version.name, File: v.crd.file,
			Line:  places.line(v.crd.definition.Name(), m.version.name, m.pointer),
			Field: m.field, SchemaPointer: m.pointer, Rule: m.rule, Kind: m.kind, Before: m.before, After: m.after, Status: NotRun}}
		r.groups[key] = g
		r.order = append(r.order, g)
	}
	g.variants = append(g.variants, v)
}

// sort orders the mutants by CRD and version. Those of one version stay in their order.
func (r *run) sort() {
	slices.SortStableFunc(r.order, func(a, b *group) int {
		return cmp.Or(cmp.Compare(a.result.CRD, b.result.CRD), cmp.Compare(a.result.Version, b.result.Version))
	})
}

// chosen returns the mutants that run.
func (r *run) chosen() []*group {
	if r.options.Limit == 0 || r.options.Limit >= len(r.order) {
		return r.order
	}
	random := rand.New(rand.NewPCG(r.options.Seed, 0))
	chosen := random.Perm(len(r.order))[:r.options.Limit]
	slices.Sort(chosen)
	var list []*group
	for _, i := range chosen {
		list = append(list, r.order[i])
	}
	return list
}

// runAll runs the chosen mutants in parallel.
func (r *run) runAll(ctx context.Context) error {
	list := r.chosen()
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.options.Time > 0 {
		limited, cancel = context.WithTimeout(ctx, r.options.Time)
	}
	defer cancel()
	next, done := make(chan int), 0
	var workers sync.WaitGroup
	failed := make([]error, len(list))
	for range cmp.Or(r.options.Parallel, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range next {
				g := list[i]
				result := *g.result // kept if the time is over
				err := r.mutant(limited, g, &result)
				r.mutex.Lock()
				if err == nil && limited.Err() == nil {
					*g.result = result
				} else if limited.Err() == nil {
					failed[i] = fmt.Errorf("%s: %s: %w", result.CRD, result.SchemaPointer, err)
				}
				if done++; r.options.Progress != nil {
					r.options.Progress(done, len(list))
				}
				r.mutex.Unlock()
			}
		})
	}
	for i := range list {
		if limited.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(ctx.Err(), errors.Join(failed...))
}

// mutant runs a mutant with each variant of its CRD, until a test fails.
func (r *run) mutant(ctx context.Context, g *group, result *Mutant) error {
	var survivor *survivor
	result.Status = Invalid
	for _, v := range g.variants {
		manifest, err := v.crd.manifest(v.mutant)
		if err != nil {
			return err
		}
		changed, report, err := engine.Compile(ctx, engine.JSON(manifest), r.options.Engine)
		if err != nil {
			return err
		}
		if changed == nil {
			result.Reason = report.Rejection.Message
			continue
		}
		if survivor == nil {
			survivor = newSurvivor(v, changed)
		}
		definitions := slices.Clone(v.files.definitions)
		definitions[slices.Index(definitions, v.crd.definition)] = changed
		evaluator := suite.NewEvaluator(definitions...)
		for _, t := range v.files.tests {
			if reached := t.reaches[v.mutant.version]; reached != nil && reached.Bit(v.mutant.node.index) == 0 {
				continue
			}
			result.Tests++
			if outcome := t.set.Run(ctx, t.test, evaluator, r.open); !outcome.Passed {
				if err := ctx.Err(); err != nil {
					return err
				}
				result.Status, result.KilledBy = Killed, t.test.Name
				return nil
			}
			if survivor.files == v.files {
				survivor.tests = append(survivor.tests, t)
			}
		}
	}
	if survivor == nil {
		return nil
	}
	result.Reason = ""
	return survivor.find(ctx, r.options, result)
}
