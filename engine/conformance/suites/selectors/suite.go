package selectors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/runner"
)

// Counts describe the cases of a run.
type Counts struct {
	Cases, Disagreements int
	// Rejected CRDs were rejected by both sides.
	Definitions, Rejected int
	// Lists counts lists, Declined the rejected ones, Selected the objects in the others.
	Lists, Declined, Selected int
	// Objects counts objects. Odd of them have fields that cannot be computed.
	Objects, Odd int
}

// String returns the summary of a run.
func (n *Counts) String() string {
	return fmt.Sprintf("conformance selectors: %d cases, %d disagreements, 0 unordered", n.Cases, n.Disagreements)
}

// Detail describes the composition of the cases.
func (n *Counts) Detail() string {
	return fmt.Sprintf("  %d definitions (%d rejected), %d objects (%d without fields), %d lists (%d rejected, %d objects selected by the others)",
		n.Definitions, n.Rejected, n.Objects, n.Odd, n.Lists, n.Declined, n.Selected)
}

// Failed reports whether the run failed.
func (n *Counts) Failed() bool { return n.Disagreements > 0 }

// Compared implements runner.Counts.
func (n Counts) Compared() int { return n.Cases }

// Run compares generated selectors. A case is one object at one version, or one selector.
func Run(o runner.Options) Counts {
	r := &run{runner.New[Counts]("selectors", o)}
	return r.Run(0, r.group)
}

type run struct{ *runner.Runner[Counts] }

// differs reports a disagreement.
func (r *run) differs(n *Counts, g *group, k uint64, format string, args ...any) {
	n.Disagreements++
	r.Report(k, format, fmt.Sprintf(format+"\n  definition: %s", append(args, g.Manifest)...))
}

// group compares the k-th group.
func (r *run) group(k uint64) (n Counts) {
	g := makeGroup(r.Seed, k)
	n.Definitions, n.Cases = 1, 1
	registered, answer := oracle.Register(g.Manifest, false)
	definition, report, err := engine.Compile(context.Background(), engine.JSON(g.Manifest), engine.Options{})
	if err != nil || report.Accepted != answer.Accepted() {
		r.differs(&n, &g, k, "registration: upstream %v, ours %v (%v)", answer.Errors, report, err)
		return n
	}
	if definition == nil {
		n.Rejected = 1
		return n
	}
	s, err := newServer(registered.V1, g.Objects)
	if err != nil {
		r.differs(&n, &g, k, "upstream does not serve: %v", err)
		return n
	}
	p := &pair{run: r, g: &g, k: k, server: s, ours: definition, n: &n, known: map[string][][]publish.SelectableField{}}
	for _, v := range g.Versions {
		p.objects(v)
	}
	for _, q := range g.Asked {
		p.list(q)
	}
	return n
}

// pair is a CRD compiled by both sides.
type pair struct {
	*run
	g      *group
	k      uint64
	server *server
	ours   *engine.Definition
	n      *Counts
	// known contains the fields of each object by version, nil for an object without known fields.
	known map[string][][]publish.SelectableField
}

// objects compares the fields of each object at a version.
func (p *pair) objects(version string) {
	if _, _, err := p.server.list(version, "", ""); err != nil {
		p.differs(p.n, p.g, p.k, "upstream does not list: %v", err)
		return
	}
	ctx := context.Background()
	p.known[version] = make([][]publish.SelectableField, len(p.g.Objects))
	for i, o := range p.g.Objects {
		p.n.Cases++
		p.n.Objects++
		theirs, theirErr := p.server.fields(version, o)
		var our []publish.SelectableField
		read, err := p.ours.Read(ctx, engine.JSON(o.Body), engine.ReadOptions{TargetVersion: version})
		if err == nil {
			our, err = publish.Select(ctx, p.ours, version, engine.JSON(read.Object))
			p.included(o, version, our, err)
		}
		if err != nil || theirErr != nil {
			p.n.Odd++
			if theirErr == nil || err == nil || rejection(err) != theirErr.Error() {
				p.differs(p.n, p.g, p.k, "fields of %s at %s: upstream %v, ours %v", o.Body, version, theirErr, err)
			}
			continue
		}
		p.known[version][i] = our
		if set := setOf(our); !maps.Equal(set, theirs) {
			p.differs(p.n, p.g, p.k, "fields of %s at %s: upstream %q, ours %q", o.Body, version, theirs, set)
		}
		if names, err := publish.SelectableFields(p.ours, version); err != nil || len(names) != len(our) {
			p.differs(p.n, p.g, p.k, "fields at %s: %q (%v), and the object has %q", version, names, err, our)
		}
	}
}

// included compares the fields that a Read includes in its answer with those that
// SelectFields returns.
func (p *pair) included(o stored, version string, alone []publish.SelectableField, failed error) {
	read, err := p.ours.Read(context.Background(), engine.JSON(o.Body),
		engine.ReadOptions{TargetVersion: version, Include: engine.PresentationOptions{SelectableFields: true}})
	switch {
	case failed != nil && (err != nil || read.Presentation != nil && read.Presentation.SelectableFields == nil): // reported in a warning
	case err != nil, read.Presentation == nil, !slices.Equal(read.Presentation.SelectableFields, alone):
		p.differs(p.n, p.g, p.k, "fields of %s at %s: by themselves %q (%v), with a Read %+v (%v)", o.Body, version, alone, failed, read, err)
	}
}

// rejection returns the error for a request for the fields of such an object.
func rejection(err error) string {
	var e *engine.Error
	if errors.As(err, &e) && e.Rejection != nil {
		return e.Rejection.Message
	}
	return "not rejected: " + err.Error()
}

func setOf(list []publish.SelectableField) fields.Set {
	set := fields.Set{}
	for _, f := range list {
		set[f.Field] = f.Value
	}
	return set
}

// list compares one list.
func (p *pair) list(q question) {
	p.n.Cases++
	p.n.Lists++
	theirs, status, err := p.server.list(q.Version, q.Namespace, q.Selector)
	if err != nil {
		p.differs(p.n, p.g, p.k, "upstream does not answer %+v: %v", q, err)
		return
	}
	s, err := publish.ParseFieldSelector(p.ours, q.Version, q.Selector)
	if status != nil || err != nil {
		p.n.Declined++
		var e *engine.Error
		if status == nil || !errors.As(err, &e) || e.Rejection == nil || e.Rejection.Code != status.Code || e.Rejection.Reason != string(status.Reason) || e.Rejection.Message != status.Message {
			p.differs(p.n, p.g, p.k, "selector %q at %s: upstream %+v, ours %v", q.Selector, q.Version, status, err)
		}
		return
	}
	var names []string
	for i, o := range p.g.Objects {
		list := p.known[q.Version][i]
		if (q.Namespace == "" || o.Namespace == q.Namespace) && (s.Empty() || list != nil && s.Matches(list)) {
			names = append(names, o.Namespace+"/"+o.Name)
		}
	}
	slices.Sort(names)
	slices.Sort(theirs)
	p.n.Selected += len(names)
	if !slices.Equal(names, theirs) {
		p.differs(p.n, p.g, p.k, "selector %q at %s in %q: upstream %s, ours %s", q.Selector, q.Version, q.Namespace, strings.Join(theirs, " "), strings.Join(names, " "))
	}
}
