package tables

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine/publish"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// pair is a CRD compiled by both sides.
type pair struct {
	*run
	g    *group
	k    uint64
	crd  *apiextensionsv1.CustomResourceDefinition
	ours *engine.Definition
	n    *Counts
	rand generate.Rand
}

var rowObjects = map[string]publish.RowObject{"": publish.RowMetadata, "Metadata": publish.RowMetadata, "None": publish.RowNone, "Object": publish.RowWhole}

var includes = slices.Sorted(maps.Keys(rowObjects))

// tables compares the table of all objects at a version, and that of one object.
func (p *pair) tables(version string) {
	p.table(question{version: version, include: generate.Pick(p.rand, includes)})
	if len(p.g.Objects) > 0 {
		p.table(question{version: version, include: generate.Pick(p.rand, includes), name: nameOf(generate.Pick(p.rand, p.g.Objects))})
	}
}

// notGot is the end of an API server's answer to a GET of an object with a field items at its root: the server takes
// the object for a list. Lists of such objects work.
const notGot = "is not a list: no Items field in this object"

// table compares one table.
func (p *pair) table(q question) {
	p.n.Tables++
	// A new server, because ranges in a path leave state in it.
	s, err := newServer(p.crd, p.g.Objects)
	if err != nil {
		p.report("upstream does not serve", err.Error())
		return
	}
	before := time.Now()
	theirs, status, err := s.ask(q)
	after := time.Now()
	if err != nil {
		p.report("upstream does not answer", err.Error())
		return
	}
	if q.name != "" && status != nil && strings.HasSuffix(status.Message, notGot) {
		p.n.Declined++
		p.n.Cases++
		return
	}
	mine, err := p.our(q, before)
	if status != nil || err != nil {
		p.n.Declined++
		p.n.Cases++
		var e *engine.Error
		if status == nil || !errors.As(err, &e) || e.Rejection == nil || e.Rejection.Code != status.Code || e.Rejection.Reason != string(status.Reason) || e.Rejection.Message != status.Message {
			p.report("rejection", fmt.Sprintf("of %+v: upstream %+v, ours %v %+v", q, status, err, e))
		}
		return
	}
	want, err := decode(theirs)
	if err != nil {
		p.report("upstream answers no JSON", err.Error())
		return
	}
	got, err := decode(mine.JSON())
	if err != nil {
		p.report("ours is no JSON", err.Error()+": "+string(mine.JSON()))
		return
	}
	p.count(got)
	if !reflect.DeepEqual(got, want) {
		later, err := p.our(q, after)
		if err == nil {
			got, err = decode(later.JSON())
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			p.unlike(q, got, want)
			return
		}
		mine = later
	}
	p.texts(theirs, mine)
}

// unlike compares a table again that differs: a time in it may have passed a second while upstream printed it, and
// upstream's answers can vary. Then ours must be one of them.
func (p *pair) unlike(q question, got, want any) {
	tries := 20
	if slices.ContainsFunc(p.g.Paths, wild) {
		tries = 200
	}
	for range tries {
		s, err := newServer(p.crd, p.g.Objects)
		if err != nil {
			break
		}
		before := time.Now()
		theirs, _, err := s.ask(q)
		if err != nil {
			break
		}
		again, err := decode(theirs)
		for _, now := range []time.Time{before, time.Now()} {
			mine, ourErr := p.our(q, now)
			if err != nil || ourErr != nil {
				break
			}
			if got, err := decode(mine.JSON()); err == nil && reflect.DeepEqual(got, again) {
				p.n.Unordered++
				return
			}
		}
	}
	cause, a, b := difference("", got, want)
	p.report("table: "+cause, fmt.Sprintf("of %+v: %s\n  ours     %.1500s\n  upstream %.1500s\n  objects %s", q, cause, a, b, bytes.Join(p.g.Objects, []byte("\n    "))))
}

func (p *pair) our(q question, now time.Time) (*publish.Table, error) {
	o := publish.TableOptions{Now: now, Object: rowObjects[q.include], ResourceVersion: fmt.Sprint(revision)}
	if q.name == "" {
		left := int64(3)
		o.Continue, o.RemainingItemCount = "next", &left
	}
	var docs []engine.Document
	for _, object := range p.g.Objects {
		if q.name == "" || q.name == nameOf(object) {
			docs = append(docs, engine.JSON(object))
		}
	}
	return publish.TableOf(context.Background(), p.ours, q.version, docs, o)
}

func (p *pair) report(cause, what string) { p.differs(p.n, p.k, p.g.Manifest, cause, what) }

func (p *pair) count(table any) {
	t, _ := table.(map[string]any)
	rows, _ := t["rows"].([]any)
	p.n.Rows += len(rows)
	p.n.Cases += max(len(rows), 1)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		cells, _ := row["cells"].([]any)
		p.n.Cells += len(cells)
		for _, c := range cells {
			if c != nil {
				p.n.Shown++
			}
		}
	}
}

// texts compares the printed text of a table, with two sets of options.
func (p *pair) texts(theirs []byte, mine *publish.Table) {
	kind := schema.GroupKind{Group: p.crd.Spec.Group, Kind: p.crd.Spec.Names.Kind}
	for range 2 {
		o := textOptions(p.rand)
		p.n.Texts++
		p.n.Cases++
		for _, d := range compareText(theirs, mine, kind, p.crd.Spec.Scope == apiextensionsv1.NamespaceScoped, o) {
			if strings.HasPrefix(d, "kubectl prints nothing") { // of whole objects in lists, which have no kind
				continue
			}
			p.report("text", d)
		}
	}
}
