package gateway

import (
	"bytes"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/crdeval/crdeval/internal/value"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// pointIntoBody makes the positions of findings those in the body, whatever the documents in it begin with: the answer to a body is about
// that body.
func (b *body) pointIntoBody(answer proto.Message) {
	if b.listed != nil {
		b.pointIntoManifests(answer)
		return
	}
	if b.yaml && b.source == nil {
		return // the body is the document
	}
	place := origin{text: b.data, line: 1}
	for _, t := range toldOf(answer, b.request) {
		if b.source == nil {
			place.shift(t.places, t.document.GetJson())
			continue
		}
		for _, p := range t.places {
			if more, alone := b.apart[t.item]; alone {
				p.at.Offset += int64(more) // lines and columns are those of the body already
				continue
			}
			found := b.source.Follow(t.path, p.pointer)
			p.at.Line, p.at.Column, p.at.Offset = int32(found.Line), int32(found.Column), int64(found.Offset)
		}
	}
}

// told are the positions of an answer that are about one document of its request.
type told struct {
	document *crdevalv1.Document
	path     value.Path // of the document in the request
	item     int        // its number in a list
	places   []place
}

// place is a position and what it is the position of.
type place struct {
	at      *crdevalv1.Position
	pointer string
}

// toldOf finds the positions of an answer, document by document.
func toldOf(answer proto.Message, request any) (all []told) {
	switch a := answer.(type) {
	case verdicts:
		all = toldOfItems(request, a.GetResults(), func(r *crdevalv1.VerdictResult) []place {
			v := r.GetVerdict()
			return append(placesOf(v.GetViolations(), v.GetRatcheted()), placesOfChanges(v.GetChanges().GetPruned())...)
		})
	case transforms:
		all = toldOfItems(request, a.GetResults(), func(r *crdevalv1.TransformResult) []place {
			return placesOfChanges(r.GetTransformed().GetChanges().GetPruned())
		})
	case *crdevalv1.RegisterCrdResponse:
		all = toldOfManifest(a.GetReport(), request)
	case *crdevalv1.CheckCrdResponse:
		all = toldOfManifest(a.GetReport(), request)
	case *crdevalv1.RegisterCrdsResponse:
		r, ok := request.(*crdevalv1.RegisterCrdsRequest)
		if !ok || len(r.GetEntries()) != len(a.GetResults()) {
			return nil
		}
		for i, result := range a.GetResults() {
			if places := placesOf(result.GetRegistration().GetReport().GetViolations()); places != nil {
				path := value.Path{value.Name("entries"), value.At(i), value.Name("manifest")}
				all = append(all, told{r.GetEntries()[i].GetManifest(), path, i, places})
			}
		}
	case *crdevalv1.DiffCrdResponse:
		if r, ok := request.(*crdevalv1.DiffCrdRequest); ok {
			all = toldOfDiff(a, r)
		}
	}
	return all
}

// verdicts is the answer of Validate and Admit, transforms that of the calls that change an object.
type (
	verdicts interface {
		GetResults() []*crdevalv1.VerdictResult
	}
	transforms interface {
		GetResults() []*crdevalv1.TransformResult
	}
)

// toldOfItems is toldOf for the results of items.
func toldOfItems[R any](request any, results []R, placesOf func(R) []place) (all []told) {
	r, ok := request.(batch)
	if !ok || len(r.GetItems()) != len(results) {
		return nil
	}
	for i, result := range results {
		if places := placesOf(result); places != nil {
			path := value.Path{value.Name("items"), value.At(i), value.Name("object")}
			all = append(all, told{r.GetItems()[i].GetObject(), path, i, places})
		}
	}
	return all
}

func toldOfManifest(report *crdevalv1.CrdReport, request any) []told {
	if d, ok := request.(**crdevalv1.Document); ok {
		return []told{{document: *d, places: placesOf(report.GetViolations())}}
	}
	return nil
}

func toldOfDiff(a *crdevalv1.DiffCrdResponse, r *crdevalv1.DiffCrdRequest) []told {
	next := told{document: r.GetManifest(), path: value.Path{value.Name("manifest")}, places: placesOf(a.GetReport().GetViolations())}
	base := told{document: r.GetBase(), path: value.Path{value.Name("base")}}
	for _, c := range a.GetChanges() {
		if c.GetNewPosition() != nil {
			next.places = append(next.places, place{c.GetNewPosition(), c.GetManifestPointer()})
		}
		if c.GetOldPosition() != nil {
			base.places = append(base.places, place{c.GetOldPosition(), c.GetManifestPointer()})
		}
	}
	all := []told{next, base}
	for i, replayed := range a.GetReplayResults() {
		places := placesOf(replayed.GetOldViolations(), replayed.GetNewViolations())
		if places != nil && i < len(r.GetObjects()) {
			all = append(all, told{r.GetObjects()[i], value.Path{value.Name("objects"), value.At(i)}, i, places})
		}
	}
	return all
}

// placesOf are the positions of findings, as far as they have some.
func placesOf(lists ...[]*crdevalv1.Violation) (all []place) {
	for _, list := range lists {
		for _, v := range list {
			if v.GetPosition() != nil {
				all = append(all, place{v.GetPosition(), v.GetPointer()})
			}
		}
	}
	return all
}

// placesOfChanges are the positions of changes, as far as they have some.
func placesOfChanges(list []*crdevalv1.FieldChange) (all []place) {
	for _, c := range list {
		if c.GetPosition() != nil {
			all = append(all, place{c.GetPosition(), c.GetPointer()})
		}
	}
	return all
}

// origin is where a document begins in the text that it is a slice of. It goes on from there to the next one, which mostly comes later.
type origin struct {
	text                 []byte
	offset, line, column int // column counts the code points before it in its line
}

// shift moves positions in a document to those in the text.
func (o *origin) shift(places []place, document []byte) {
	at := cap(o.text) - cap(document) // both end where their memory does
	if len(places) == 0 || len(document) == 0 || at < 0 || at+len(document) > len(o.text) || &o.text[at] != &document[0] {
		return
	}
	if at < o.offset {
		o.offset, o.line, o.column = 0, 1, 0
	}
	passed := o.text[o.offset:at]
	o.line += bytes.Count(passed, []byte{'\n'})
	if i := bytes.LastIndexByte(passed, '\n'); i >= 0 {
		passed, o.column = passed[i+1:], 0
	}
	o.column += utf8.RuneCount(passed) // of what has been passed alone: a line may be as long as the body
	o.offset = at
	for _, p := range places {
		if p.at.GetLine() == 1 {
			p.at.Column += int32(o.column)
		}
		p.at.Line += int32(o.line - 1)
		p.at.Offset += int64(at)
	}
}
