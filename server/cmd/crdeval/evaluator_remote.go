package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	crdeval "github.com/crdeval/crdeval/clients/go"
	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/cmd/crdeval/message"
)

// remoteEvaluator evaluates with the service of --server. Its requests bring the CRDs of the run.
type remoteEvaluator struct {
	*service
	workspace *workspace.Workspace

	mu      sync.Mutex
	reports map[*workspace.CRD]*crdReport
	rules   map[string][]byte // conversion rules, by the name of the CRD
}

func newRemoteEvaluator(s *service, w *workspace.Workspace) *remoteEvaluator {
	e := &remoteEvaluator{service: s, workspace: w, reports: map[*workspace.CRD]*crdReport{}, rules: map[string][]byte{}}
	w.Compiler = e.compile
	return e
}

func (e *remoteEvaluator) close() { e.service.close() }

func (e *remoteEvaluator) registered() bool { return true }

// compile has the service check a CRD.
func (e *remoteEvaluator) compile(ctx context.Context, c *workspace.CRD) *workspace.Compiled {
	j, err := e.checkCRD(ctx, c.Manifest, engine.FieldValidationWarn)
	if err != nil {
		j.fail(err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.reports[c] = j
	compiled := &workspace.Compiled{Accepted: j.Accepted, Err: err}
	if err == nil && !j.Accepted {
		compiled.Report = &engine.Report{Rejection: &engine.Rejection{Message: j.Report.message.GetRejection().GetMessage()}}
	}
	return compiled
}

func (e *remoteEvaluator) report(ctx context.Context, c *workspace.CRD) *crdReport {
	e.workspace.Compile(ctx, c)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reports[c]
}

// inline returns the documents that a request about a CRD brings. The CRD is nil if only the service has it.
func (e *remoteEvaluator) inline(c *workspace.CRD) (documents [][]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c == nil {
		for _, rules := range e.rules { // of registered CRDs
			documents = append(documents, rules)
		}
		return documents
	}
	documents = append(documents, c.JSON())
	if rules := e.rules[c.Name]; rules != nil {
		documents = append(documents, rules)
	}
	return documents
}

// setRules checks conversion rules. Later requests bring them.
func (e *remoteEvaluator) setRules(ctx context.Context, rules *workspace.Manifest, crds []*workspace.CRD) (*crdReport, error) {
	var inline [][]byte
	if len(crds) > 0 {
		inline = e.inline(crds[0])
	}
	j, err := e.checkRules(ctx, rules, inline)
	if err != nil {
		return nil, err
	}
	if j.Accepted {
		e.mu.Lock()
		e.rules[rules.CRD] = rules.JSON()
		e.mu.Unlock()
	}
	return j, nil
}

func (e *remoteEvaluator) admit(
	ctx context.Context, list []question, o engine.AdmitOptions, limit time.Duration,
) ([]answer, error) {
	answers := make([]answer, len(list))
	options := crdeval.AdmitOptions{Evaluation: message.AdmitOptions(o)}
	options.Evaluation.ItemTimeout = durationpb.New(limit)
	for _, crd := range crdsOf(list) {
		name := ""
		if crd != nil {
			name = crd.Name
		}
		var items []*crdevalv1.WriteItem
		var of []int // indexes in list
		for i, q := range list {
			if q.crd == crd {
				items, of = append(items, message.Write(name, q.write)), append(of, i)
			}
		}
		results, err := e.With(e.inline(crd)...).AdmitItems(ctx, items, options)
		if err != nil {
			return nil, e.fail("", err)
		}
		for i, result := range results {
			a := &answers[of[i]]
			if result.Err != nil {
				a.err = e.manifestError(result.Err)
			} else {
				a.verdict = message.Verdict(result.Verdict)
				relocate(a.verdict, list[of[i]].of)
			}
		}
	}
	return answers, nil
}

// relocate makes the positions of a verdict those in the file of a manifest, which may be nil: a service does not know it.
func relocate(v *engine.Verdict, m *workspace.Manifest) {
	if m == nil {
		return
	}
	locate := func(pointer string, at *engine.Position) {
		if at != nil {
			*at = m.Position(pointer, *at)
		}
	}
	for _, list := range [][]engine.Violation{v.Violations, v.Next, v.Ratcheted} {
		for i := range list {
			locate(list[i].Pointer, list[i].Position)
		}
	}
	for i := range v.Warnings {
		locate(v.Warnings[i].Pointer, v.Warnings[i].Position)
	}
	for _, list := range [][]engine.FieldChange{v.Pruned, v.Defaulted} {
		for i := range list {
			locate(list[i].Pointer, list[i].Position)
		}
	}
}

// crdsOf returns the CRDs of questions, in their order.
func crdsOf(list []question) (crds []*workspace.CRD) {
	for _, q := range list {
		if !slices.Contains(crds, q.crd) {
			crds = append(crds, q.crd)
		}
	}
	return crds
}

// table returns the table of objects, from as many requests as necessary.
func (e *remoteEvaluator) table(
	ctx context.Context, crd *workspace.CRD, version string, objects [][]byte, now time.Time,
) ([]byte, error) {
	limits, err := e.Limits(ctx)
	if err != nil {
		return nil, e.fail("", err)
	}
	var whole map[string]json.RawMessage
	rows := []json.RawMessage{}
	for len(objects) > 0 {
		request := &crdevalv1.TableRequest{
			Context: e.evaluationContext(nil, e.inline(crd)...), Version: version, Now: timestamppb.New(now),
			RowObject: crdevalv1.RowObject_ROW_OBJECT_METADATA,
		}
		capacity := int64(limits.GetMaxMessageBytes())/2 - int64(proto.Size(request))
		for ; len(objects) > 0 && len(request.Objects) < int(limits.GetMaxBatchItems()); objects = objects[1:] {
			// A table has cells besides the metadata of the objects.
			if capacity -= int64(2 * len(objects[0])); capacity < 0 && len(request.Objects) > 0 {
				break
			}
			request.Objects = append(request.Objects, crdeval.Document(objects[0]))
		}
		answer, err := e.Presentation().Table(ctx, request)
		if err != nil {
			return nil, e.fail("table", err)
		}
		text := answer.GetTable().GetJson()
		var some struct {
			Rows []json.RawMessage `json:"rows"`
		}
		if err := errors.Join(json.Unmarshal(text, &some), json.Unmarshal(text, &whole)); err != nil {
			return nil, fmt.Errorf("table: %w", err)
		}
		rows = append(rows, some.Rows...)
	}
	if whole["rows"], err = json.Marshal(rows); err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

func (e *remoteEvaluator) matching(
	ctx context.Context, crd *workspace.CRD, version, selector string, objects [][]byte,
) (matches []bool, _ error) {
	results, err := e.With(e.inline(crd)...).SelectFields(ctx, crdeval.Subject{Version: version}, selector, objects...)
	var rejected *crdeval.Rejected
	switch {
	case errors.As(err, &rejected):
		return nil, fmt.Errorf("--field-selector: %w", err)
	case err != nil:
		return nil, e.fail("field selector", err)
	}
	for _, r := range results {
		if r.Err != nil {
			return nil, callError("", "", r.Err)
		}
		matches = append(matches, r.Matches)
	}
	return matches, nil
}
