// Package suite runs the suites that make cases of their own (tables, selectors, scale, openapi): it deals their groups
// of cases out to goroutines, adds up what they count, and tells where the two sides differ.
package suite

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"runtime"
	"sync"
)

// Options say what to run.
type Options struct {
	// N is the number of cases: what a case is, is each suite's own.
	N    int
	Seed uint64
	// Limit ends the run after that many distinct disagreements; 0 means 20.
	Limit int
	// Workers is the number of goroutines; 0 means GOMAXPROCS.
	Workers int
	// Log receives disagreements.
	Log io.Writer
}

// Counts are what a suite counts: a struct of ints and of maps to ints.
type Counts interface{ Compared() (cases int) }

// Runner is a run under way.
type Runner[C Counts] struct {
	Options
	name string
	mu   sync.Mutex
	next uint64
	sum  C
	seen map[string]int
}

// New is a run of the named suite.
func New[C Counts](name string, o Options) *Runner[C] {
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.Limit == 0 {
		o.Limit = 20
	}
	return &Runner[C]{Options: o, name: name, seen: map[string]int{}}
}

// Run compares the groups 0, 1, 2, …, several at a time, until there are as many cases as asked for, but the first
// groups whatever that is; or until there are too many distinct disagreements.
func (r *Runner[C]) Run(first uint64, compare func(k uint64) C) (sum C) {
	var workers sync.WaitGroup
	for range r.Workers {
		workers.Go(func() {
			for k, more := r.take(first); more; k, more = r.take(first) {
				r.add(compare(k))
			}
		})
	}
	workers.Wait()
	return r.sum
}

func (r *Runner[C]) take(first uint64) (k uint64, more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, r.next = r.next, r.next+1
	return k, (k < first || r.sum.Compared() < r.N) && len(r.seen) < r.Limit
}

func (r *Runner[C]) add(one C) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sum, more := reflect.ValueOf(&r.sum).Elem(), reflect.ValueOf(one)
	for i := range sum.NumField() {
		into, from := sum.Field(i), more.Field(i)
		if from.Kind() != reflect.Map {
			into.SetInt(into.Int() + from.Int())
			continue
		}
		if into.IsNil() {
			into.Set(reflect.MakeMap(into.Type()))
		}
		for key, n := range from.Seq2() {
			total := reflect.New(n.Type()).Elem()
			if before := into.MapIndex(key); before.IsValid() {
				total.SetInt(before.Int())
			}
			total.SetInt(total.Int() + n.Int())
			into.SetMapIndex(key, total)
		}
	}
}

// shownPerCause is how many disagreements of what looks like one cause are printed.
const shownPerCause = 2

// varying is what differs between disagreements of one cause.
var varying = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|\{.*\}|\d+`)

// Report reports a disagreement in the k-th group. Disagreements whose causes differ only in numbers, quoted strings and
// objects count as one.
func (r *Runner[C]) Report(k uint64, cause, what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cause = varying.ReplaceAllString(cause, "_")
	if r.seen[cause]++; r.seen[cause] > shownPerCause || r.Log == nil {
		return
	}
	_, _ = fmt.Fprintf(r.Log, "\nDISAGREEMENT %s, seed %d, group %d: %s\n", r.name, r.Seed, k, what)
}
