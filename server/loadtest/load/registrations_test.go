package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// registrations: one caller checks four CRDs with a rule that takes seconds to compile, without pause. Another caller
// registers CRDs of 300 KiB.
func registrations(l *load) {
	s := l.launch(l.withTokens(launch{flags: []string{"--store=memory"}}))
	n := l.neighbour(s, "neighbour", 1)
	next, patience := 0, l.span(20*time.Second, 10*time.Second)
	slowest := func(count int) (d time.Duration) {
		for range count {
			next++
			begin := time.Now()
			ctx, cancel := context.WithTimeout(l.Context(), patience)
			_, err := n.RegisterCRD(ctx, largeCRD(next))
			cancel()
			d = max(d, time.Since(begin))
			if err != nil && d < patience {
				l.Fatal(err)
			}
			if d >= patience {
				break
			}
		}
		return d
	}
	slowest(1)
	alone := slowest(l.size(5, 3))
	stop := l.attack(s, "-attack-calls=4")
	time.Sleep(time.Second)
	beside := slowest(l.size(3, 2))
	stop()
	l.note("slowest registration alone: %v; beside four heavy checks: %v", alone, beside)
	l.atMost("time of the neighbour's registration beyond three times that alone", (beside - 3*alone).Seconds(), bound{1, 60}, " s")
}

// largeCRD returns a CRD of about 300 KiB with 400 rules.
func largeCRD(i int) []byte {
	var b strings.Builder
	for n := range 400 {
		_, _ = fmt.Fprintf(&b, `p%d: {type: integer, description: %q, x-kubernetes-validations: [{rule: "self != %d"}]}, `,
			n, strings.Repeat(prose, 3), i*1000+n)
	}
	return schemaCRD(fmt.Sprintf("Large%d", i), fmt.Sprintf("{type: object, properties: {spec: {type: object, properties: {%s}}}}", b.String()))
}

// heavyCRD returns a CRD with a rule of about 12 bytes for each term. The time to compile it grows with the square of the
// terms: with 3,500 terms it is 40 KiB, and takes seconds. A rule may have 100,000 bytes.
func heavyCRD(kind string, terms int) []byte {
	rule := make([]string, terms)
	for i := range rule {
		rule[i] = fmt.Sprintf("self != %d", i)
	}
	return schemaCRD(kind, fmt.Sprintf(`{type: object, properties: {spec: {type: integer, x-kubernetes-validations: [{rule: %q}]}}}`,
		strings.Join(rule, "&&")))
}

func attackRegistrations(ctx context.Context, l *load, grpc, _ string) error {
	c, err := crdeval.Dial(grpc, crdeval.WithToken(attackerToken))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	heavy := heavyCRD("Heavy", l.size(7000, 4000))
	return forever(ctx, *attackCalls, func(ctx context.Context) error {
		checked, err := c.CheckCRD(ctx, heavy)
		if err == nil && !checked.GetAccepted() {
			l.Errorf("the heavy CRD is rejected: %.500s", checked.GetReport())
			<-ctx.Done()
		}
		return err
	})
}
