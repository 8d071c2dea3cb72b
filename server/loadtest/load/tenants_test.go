package load

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

var attackCalls = flag.Int("attack-calls", 0, "calls in flight of the attacks of tenants and registrations")

// The tokens of the callers of tenants and registrations.
const (
	attackerToken  = "attacker-0123456789abcdef"
	neighbourToken = "neighbour-0123456789abcdef"
)

// tenants: one tenant sends the most expensive legal calls without pause, another one validates CronTabs.
func tenants(l *load) {
	if *full {
		l.besideTenant("", 1, 16, 64, 300)
	} else {
		l.besideTenant("", 1, 16)
	}
}

// tenantsSeparate is tenants with the server on core 0, and both tenants on core 1.
func tenantsSeparate(l *load) {
	if runtime.NumCPU() < 2 {
		l.Skip("this machine has one core")
	}
	defer l.pin("1")()
	if *full {
		l.besideTenant("0", 1, 16, 64, 300)
	} else {
		l.besideTenant("0", 16)
	}
}

// besideTenant measures the neighbour alone, and beside each number of expensive calls. cpus are those of the server.
func (l *load) besideTenant(cpus string, levels ...int) {
	l.Helper()
	s := l.launch(l.withTokens(launch{flags: []string{"--store=memory"}, cpus: cpus}))
	defer s.kill()
	n := l.neighbour(s, "neighbour", 10)
	// The automaton has 10,000 states, and 58 KiB of "a" activate all of them.
	pattern := "^[ab]*a" + strings.Repeat("[ab]{1000}", 10) + "x$"
	l.register(s, "default", schemaCRD("Regex", fmt.Sprintf(`{type: object, properties: {spec: {type: string, pattern: %q}}}`, pattern)))
	d, warm := l.span(8*time.Second, 1500*time.Millisecond), l.span(2*time.Second, 500*time.Millisecond)
	closedLoop(l.Context(), 2, warm, n.call)
	alone := closedLoop(l.Context(), 2, d, n.call)
	l.note("neighbour alone: %v", alone)
	for _, calls := range levels {
		stop := l.attack(s, fmt.Sprintf("-attack-calls=%d", calls))
		time.Sleep(warm)
		beside := closedLoop(l.Context(), 2, d, n.call)
		stop()
		l.note("beside %d calls: %v", calls, beside)
		name := fmt.Sprintf(" beside %d expensive calls", calls)
		l.atLeast("throughput"+name+", of that alone", beside.rate()/alone.rate()*100, bound{40, 0}, "%")
		l.atMost("p99"+name+", of that alone",
			beside.latency.quantile(0.99).Seconds()/alone.latency.quantile(0.99).Seconds(), bound{5, 1e6}, "x")
		l.atMost("failed calls"+name, float64(beside.failed()), failureBound(beside), "")
	}
}

func attackTenants(ctx context.Context, _ *load, grpc, _ string) error {
	c, err := crdeval.Dial(grpc, crdeval.WithToken(attackerToken))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	expensive := object("Regex", `"`+strings.Repeat("a", 58<<10)+`"`)
	return forever(ctx, *attackCalls, func(ctx context.Context) error {
		results, err := c.Validate(ctx, expensive)
		for _, r := range results {
			if err == nil {
				err = r.Err
			}
		}
		return err
	})
}

// withTokens adds the tokens of both callers.
func (l *load) withTokens(how launch) launch {
	l.Helper()
	path := filepath.Join(l.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(attackerToken+"\n"+neighbourToken+"\n"), 0o600); err != nil {
		l.Fatal(err)
	}
	how.token = neighbourToken
	how.flags = append(how.flags, "--auth-token-file="+path)
	return how
}

// pin moves this process, and those that it starts, to a core. It returns a function that undoes it.
func (l *load) pin(cpus string) (undo func()) {
	l.Helper()
	move := func(cpus string) {
		out, err := exec.CommandContext(context.WithoutCancel(l.Context()), "taskset", "--all-tasks", "--cpu-list", "--pid", cpus,
			fmt.Sprint(os.Getpid())).CombinedOutput()
		if err != nil {
			l.Fatalf("taskset: %v\n%s", err, out)
		}
	}
	move(cpus)
	before := runtime.GOMAXPROCS(1)
	return func() {
		runtime.GOMAXPROCS(before)
		move(fmt.Sprintf("0-%d", runtime.NumCPU()-1))
	}
}
