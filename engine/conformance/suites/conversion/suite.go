package conversion

import (
	"context"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/ours"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
	"github.com/crdeval/crdeval/engine/conformance/suites/writes"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
	"github.com/crdeval/crdeval/engine/convert"
	"github.com/crdeval/crdeval/server/conversion"
)

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements, Unordered int
	Definitions                     int
	Declared                        int // definitions with conversion rules
	// Asked counts cases by call. Outcomes counts upstream's answers.
	Asked    map[how]int
	Outcomes map[string]int
	// Behaviours counts what the webhook did for upstream: converted objects by behaviour.
	Behaviours map[string]int
}

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Cases }

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance conversion: %d cases, %d disagreements, %d unordered",
		n.Cases, n.Disagreements, n.Unordered)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	honestly, wrong, least, fewest := n.Behaviours[honest], 0, "", 0
	for _, name := range append(names(objects), names(reviews)...) {
		times := n.Behaviours[name]
		if wrong += times; least == "" || times < fewest {
			least, fewest = name, times
		}
	}
	return fmt.Sprintf("  %d definitions, %d with rules; asked %v, answered %v; "+
		"the webhook converted %d objects honestly and %d in %d other ways (least often %s: %d)",
		n.Definitions, n.Declared, n.Asked, n.Outcomes, honestly, wrong, len(objects)+len(reviews), least, fewest)
}

// mostUnordered is the accepted number of cases per thousand in which upstream's answers vary.
const mostUnordered = 10

// Failed reports whether the run failed.
func (n *Counts) Failed() bool {
	return n.Disagreements > 0 || n.Unordered > 5 && n.Unordered*1000 > n.Cases*mostUnordered
}

// Options of a run.
type Options struct {
	runner.Options
	// Wrap, if set, wraps the client that calls webhooks for the engine. Tests make it wrong.
	Wrap func(conversionwebhook.Converter) conversionwebhook.Converter
}

// Run compares generated requests. Each is a case.
func Run(o Options) Counts {
	r := &run{runner.New[Counts]("conversion", o.Options), o.Wrap}
	return r.Run(0, r.group)
}

type run struct {
	*runner.Runner[Counts]
	wrap func(conversionwebhook.Converter) conversionwebhook.Converter
}

// group compares all requests of one CRD.
func (r *run) group(k uint64) Counts {
	n := Counts{Definitions: 1, Asked: map[how]int{}, Outcomes: map[string]int{}, Behaviours: map[string]int{}}
	h := newHook()
	defer h.close()
	m := newMaker(r.Seed, k)
	manifest := m.manifest(h.url(), h.bundle)
	p, err := newPair(manifest, m.rules, h, r.wrap)
	if err != nil {
		n.Cases, n.Disagreements = 1, 1
		r.Report(k, "registration", fmt.Sprintf("%v\n  definition %s", err, manifest))
		return n
	}
	if m.declared {
		if d := p.ours.Engine(); convert.ReportOf(d).Accepted {
			h.rules, m.declarer = d, d
			n.Declared++
		} else { // the generator knows little of what rules need
			return n
		}
	}
	for i := range questionsPerGroup {
		q := m.next()
		check := i%3 == 0
		result := p.compare(q, check)
		unordered := false
		for range mostReruns { // the order in which upstream checks labels is that of Go maps
			if len(result.diffs) == 0 {
				break
			}
			if again := p.compare(q, check); len(again.diffs) == 0 {
				result, unordered = again, true
			}
		}
		n.count(q, result, unordered)
		if len(result.diffs) > 0 {
			n.Disagreements++
			r.Report(k, result.diffs[0], fmt.Sprintf("request %d, %s\n  definition %s\n  rules %s\n  %s",
				i, q, manifest, m.rules.YAML, strings.Join(result.diffs, "\n  ")))
		}
	}
	return n
}

const mostReruns = 32

// String describes the case.
func (q question) String() string {
	switch q.how {
	case list:
		return fmt.Sprintf("list at %s, %s\n  objects %s", q.Version, q.Include, q.Objects)
	case toVersion:
		return fmt.Sprintf("convert to %s\n  object %s", q.Target, q.Body)
	}
	return fmt.Sprintf("%s %s at %s, %s\n  old  %s\n  body %s\n  mutation %s",
		q.how, q.Op, q.Version, q.FieldValidation, q.Old, q.Body, q.Mutation)
}

func (n *Counts) count(q question, r result, unordered bool) {
	n.Cases++
	n.Asked[q.how]++
	if unordered {
		n.Unordered++
	}
	n.Outcomes[outcome(r.upstream)]++
	for name, times := range r.done {
		n.Behaviours[name] += times
	}
}

// outcome classifies an answer of upstream.
func outcome(a oracle.Answer) string {
	if a.Rejection == nil {
		return "ok"
	}
	for _, c := range []struct{ class, text string }{
		{"call", " failed: "}, {"count", " objects, expected "}, {"version", "invalid groupVersion"},
		{"kind", "invalid kind"},
		{"identity", "must have the same"}, {"metadata", "invalid metadata"}, {"review", "no supported conversion review"},
	} {
		if strings.Contains(a.Rejection.Message, c.text) {
			return c.class
		}
	}
	return fmt.Sprint("other ", a.Rejection.Code)
}

// newPair compiles a CRD on both sides. Conversion rules, which may be absent, replace the webhook of our side. wrap can
// be nil.
func newPair(
	manifest []byte, rules engine.Document, h *hook, wrap func(conversionwebhook.Converter) conversionwebhook.Converter,
) (*pair, error) {
	var registered *oracle.Registered
	var answer oracle.Answer
	var mine writes.Definition
	client, err := newClient()
	if err != nil {
		return nil, err
	}
	subject := ours.Engine{Converter: client, Conversion: rules}
	if wrap != nil {
		subject.Converter = wrap(client)
	}
	// A CRD whose webhook knows no known review can only be an update of such a CRD.
	if old := (&oracle.Previous{Manifest: manifest, Established: true}).Keep(); old != nil {
		registered, answer = oracle.RegisterUpdate(old, manifest, false)
		mine, _ = subject.Update(old, manifest)
	}
	if registered == nil || mine == nil {
		return nil, fmt.Errorf("the definition is rejected: %+v", answer)
	}
	p := &pair{hook: h, ours: mine.(*ours.Definition)}
	if p.upstream, err = oracle.Compile(registered); err != nil {
		return nil, err
	}
	if p.calling, err = p.upstream.CallingWebhook(); err != nil {
		return nil, err
	}
	p.lister, err = newLister(registered.V1)
	return p, err
}

// client is a conversion.Client that never stops calling a webhook: it is closed, and with it forgets failed calls,
// before there are too many in a row.
type client struct {
	*conversion.Client
	failures int
}

// mostFailures in a row do not stop a conversion.Client.
const mostFailures = 4

func newClient() (*client, error) {
	hosts, err := conversion.ParseHosts([]string{"127.0.0.1"})
	if err != nil {
		return nil, err
	}
	c, err := conversion.New(conversion.Options{Hosts: hosts})
	return &client{Client: c}, err
}

// Convert implements conversionwebhook.Converter. One goroutine calls it.
func (c *client) Convert(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	if c.failures == mostFailures {
		c.Close()
		c.failures = 0
	}
	replies, err := c.Client.Convert(ctx, r)
	if c.failures++; err == nil {
		c.failures = 0
	}
	return replies, err
}
