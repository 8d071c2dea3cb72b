package load

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/crdeval/crdeval/engine/testenv"
)

var (
	full        = flag.Bool("full", false, "run the cases of TestLoad in full size, with their bars")
	duration    = flag.Duration("duration", 0, "duration of the cases overload and soak with -full; 0: five minutes, and two hours")
	serverFlags = flag.String("server-flags", "", "further flags of the servers of TestLoad, separated by spaces")
	binaryPath  = flag.String("binary", "", "crdeval binary for TestLoad; empty: build it")
)

// loadCases are the cases of make load. A case can be found by its name in the process of its attack.
var loadCases []loadCase

type loadCase struct {
	name   string
	run    func(*load)
	attack attack // of cases that call load.attack
}

func init() {
	loadCases = []loadCase{
		{"slow-readers", slowReaders, attackSlowReaders},
		{"bombs", bombs, attackBombs},
		{"idle-streams", idleStreams, attackIdleStreams},
		{"half-open", halfOpen, attackHalfOpen},
		{"headers", largeHeaders, attackLargeHeaders},
		{"tenants", tenants, attackTenants},
		{"tenants-separate", tenantsSeparate, attackTenants},
		{"registrations", registrations, attackRegistrations},
		{"deadlines", deadlines, nil},
		{"cross-site", crossSite, nil},
		{"overload", overload, nil},
		{"rolling", rolling, nil},
		{"soak", soak, nil},
	}
}

// load is a run of a case. In full size, a case has the sizes and the bars of make load. Otherwise it takes seconds and
// its limits of rates and times are looser, so that it passes on a busy machine.
type load struct {
	*testing.T
	binary string
	bars   *[]bar
	name   string
}

// bar is a figure and its limit.
type bar struct {
	load, figure, value, limit string
	met                        bool
}

// TestLoad runs the cases and prints a table of their figures and bars.
func TestLoad(t *testing.T) {
	testenv.E2E(t)
	if *attacks.name != "" {
		runAttack(t)
		return
	}
	path, bars := *binaryPath, []bar{}
	if path == "" {
		path = build(t, t.TempDir())
	}
	for _, c := range loadCases {
		t.Run(c.name, func(t *testing.T) {
			begin := time.Now()
			c.run(&load{T: t, binary: path, bars: &bars, name: c.name})
			fmt.Printf("%s: %v\n", c.name, time.Since(begin).Round(time.Second))
		})
	}
	printBars(bars)
}

func printBars(bars []bar) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CASE\tFIGURE\tVALUE\tBAR\tRESULT")
	for _, b := range bars {
		result := "missed"
		if b.met {
			result = "met"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", b.load, b.figure, b.value, b.limit, result)
	}
	_ = w.Flush()
}

// size returns the number for full size or for make e2e.
func (l *load) size(large, small int) int {
	if *full {
		return large
	}
	return small
}

// span returns the duration for full size or for make e2e.
func (l *load) span(large, small time.Duration) time.Duration {
	if *full {
		return large
	}
	return small
}

// bound is the limit of a figure in full size, and the looser one in make e2e.
type bound struct{ full, small float64 }

func (b bound) limit() float64 {
	if *full {
		return b.full
	}
	return b.small
}

// atMost compares a figure with its upper bound. unit follows the numbers.
func (l *load) atMost(figure string, value float64, b bound, unit string) {
	l.Helper()
	l.compare(figure, value, "at most ", b, unit, value <= b.limit())
}

// atLeast compares a figure with its lower bound.
func (l *load) atLeast(figure string, value float64, b bound, unit string) {
	l.Helper()
	l.compare(figure, value, "at least ", b, unit, value >= b.limit())
}

func (l *load) compare(figure string, value float64, how string, b bound, unit string, met bool) {
	l.Helper()
	number := func(v float64) string {
		text := fmt.Sprintf("%.2f", v)
		return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + unit
	}
	*l.bars = append(*l.bars, bar{l.name, figure, number(value), how + number(b.limit()), met})
	if !met {
		l.Errorf("%s: %s, want %s%s", figure, number(value), how, number(b.limit()))
	}
}

// note prints a figure without a bar.
func (l *load) note(format string, args ...any) {
	fmt.Printf("%s: %s\n", l.name, fmt.Sprintf(format, args...))
}

// launch starts a server that listens on TCP.
func (l *load) launch(how launch) *server {
	l.Helper()
	dir, err := os.MkdirTemp("", "crdeval-load-") // the path of a socket must be short
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	how.binary, how.dir, how.tcp = l.binary, dir, true
	how.flags = append(how.flags, strings.Fields(*serverFlags)...)
	return how.start(l.T)
}

// withMemory returns the settings that limit the memory of a server: --memory, or GOMEMLIMIT for binaries without it.
func (l *load) withMemory(bytes int64) launch {
	l.Helper()
	help, err := exec.CommandContext(l.Context(), l.binary, "serve", "--help").CombinedOutput()
	if err != nil {
		l.Fatalf("%v\n%s", err, help)
	}
	how := launch{flags: []string{"--store=memory"}}
	if strings.Contains(string(help), "--memory=") {
		how.flags = append(how.flags, fmt.Sprintf("--memory=%dMiB", bytes>>20))
	} else {
		how.env = append(how.env, fmt.Sprintf("GOMEMLIMIT=%dMiB", bytes>>20))
	}
	return how
}
