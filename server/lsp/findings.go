package lsp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/diagnosis"
)

// Codes of diagnostics that are not types of violations. crdeval check and admit use the same codes.
const (
	codeRule      = "x-kubernetes-validations"
	codeUnknown   = "UnknownField"
	codeDuplicate = "DuplicateField"
	codeRejected  = "Rejected"
	codeWarning   = "Warning"
	codeCost      = "RuleCost"
	codeUnchecked = "NotChecked"
)

// finding is a diagnostic of a document before its range is known.
type finding struct {
	syntax   bool   // the document cannot be read
	item     int    // the number of the item of a list, from 1; 0 for a document
	pointer  string // JSON pointer of the field
	offset   int    // in the text of the document; -1: unknown
	severity int
	code     string
	message  string
	hint     *engine.Hint
	rule     string     // expression of the rule that failed
	crd      *crdSource // whose schema is violated
	version  string     // of the schema
	schema   string     // JSON pointer of the violated keyword in the schema
	// fixes returns the quick fixes in the document, or in the item. It is nil for a finding without fixes.
	fixes func(*diagnosis.Document) []diagnosis.Fix
}

// result has the findings of a document. They do not depend on the position of the document in the file.
type result struct {
	findings []finding
	stored   *stored
	used     map[groupKind]*engine.Definition // nil: there was none
}

// maxFindings bounds the diagnostics of a document.
const maxFindings = 500

// examine returns the findings of each document of a file, in the order of value.SplitYAML. It reuses the results in
// old, by the text of the document, unless a CRD or a stored object has changed. It returns the results for the next call.
func (w *folders) examine(ctx context.Context, text []byte, of *stored, old map[string]*result) (
	list []located, all map[string]*result) {
	all = map[string]*result{}
	for d := range value.SplitYAML(text) {
		key := string(d.Text)
		r := all[key]
		if r == nil {
			r = old[key]
		}
		if r == nil || r.stored != of || !w.current(r) {
			r = w.document(ctx, d.Text, of)
		}
		if ctx.Err() != nil {
			return nil, old
		}
		all[key] = r
		list = append(list, located{result: r, begin: d.Offset, line: d.Line - 1, text: d.Text})
	}
	return list, all
}

// located is a result with the position of its document in the file.
type located struct {
	*result
	begin, line int
	text        []byte
}

// current reports whether the CRDs that a result depends on are the same.
func (w *folders) current(r *result) bool {
	for key, d := range r.used {
		var now *engine.Definition
		if c := w.ofKind(key.group, key.kind); c != nil {
			c.mu.Lock()
			now = c.definition
			compiled := c.compiled
			c.mu.Unlock()
			if !compiled || now == nil { // it may have another failure
				return false
			}
		}
		if now != d {
			return false
		}
	}
	return true
}

// document evaluates a document.
func (w *folders) document(ctx context.Context, text []byte, of *stored) *result {
	r, settings := &result{stored: of, used: map[groupKind]*engine.Definition{}}, w.config()
	for _, m := range workspace.Read(text) {
		found := len(r.findings)
		switch {
		case ctx.Err() != nil:
			return r
		case m.Err != nil:
			r.unreadable(m)
		case m.Kind == workspace.CRDKind:
			r.checkCRD(ctx, m, settings.KubernetesMinor)
		case m.Conversion || m.Kind == "" || settings.SkipKind != nil && settings.SkipKind(m.APIVersion, m.Kind):
		default:
			w.checkObject(ctx, r, m, settings)
		}
		for i := found; i < len(r.findings); i++ {
			r.findings[i].item = m.Item
		}
		if len(r.findings) > maxFindings {
			more := len(r.findings) - maxFindings
			r.findings = append(r.findings[:maxFindings], finding{
				offset: 0, severity: severityInformation, code: codeUnchecked,
				message: fmt.Sprintf("%d more problems of this document are not shown", more),
			})
			return r
		}
	}
	return r
}

func (r *result) add(f finding) { r.findings = append(r.findings, f) }

// unreadable adds the syntax error of a document.
func (r *result) unreadable(m *workspace.Manifest) {
	r.failed(m, m.Err)
	f := &r.findings[len(r.findings)-1]
	f.syntax, f.message = true, strings.TrimPrefix(f.message, "document: ")
}

// offsetOf returns the offset of a position, -1 if it is unknown.
func offsetOf(at *engine.Position) int {
	if at == nil {
		return -1
	}
	return at.Offset
}

// violation adds a violation.
func (r *result) violation(m *workspace.Manifest, v *engine.Violation, severity int) *finding {
	f := finding{
		pointer: v.Pointer, offset: offsetOf(v.Position), severity: severity,
		code: cmp.Or(v.Type, codeRejected), message: v.Error(), hint: v.Hint, schema: v.SchemaPointer,
	}
	if v.Field == "" || v.Field == "<nil>" {
		f.message = v.Message
	}
	if strings.Contains(v.Detail, "some validation rules were not checked") { // a consequence of other violations
		f.severity = severityInformation
	}
	if v.Rule != nil {
		f.code, f.rule = codeRule, v.Rule.Text
	}
	r.add(f)
	return &r.findings[len(r.findings)-1]
}

// checkCRD adds the violations and the warnings of a CRD, and the bounds that its rules need.
func (r *result) checkCRD(ctx context.Context, m *workspace.Manifest, minor int) {
	report, err := engine.Check(ctx, m.Document, engine.Options{KubernetesMinor: minor})
	if err != nil {
		r.failed(m, err)
		return
	}
	for i := range report.Violations {
		v := &report.Violations[i]
		f := r.violation(m, v, severityError)
		if isCRD(m.APIVersion, m.Kind) {
			f.fixes = func(d *diagnosis.Document) []diagnosis.Fix {
				return d.Violation(v, schemaOfCRD().field(v.Pointer))
			}
		}
	}
	if len(report.Violations) == 0 && report.Rejection != nil {
		r.rejected(m, report.Rejection.Message, severityError)
	}
	r.warned(m, engine.TextsOf(report.Warnings), severityWarning, (*diagnosis.Document).Warning)
	for i := range report.Versions {
		r.costs(&report.Versions[i])
	}
}

// costs adds a finding for each bound that would reduce the cost of the rules of a version to their limits.
func (r *result) costs(v *engine.VersionInfo) {
	root := fmt.Sprintf("/spec/versions/%d/schema/openAPIV3Schema", v.Index)
	seen := map[string]bool{}
	for i := range v.Rules {
		rule := &v.Rules[i]
		if rule.ShareOfLimit <= 1 && v.EstimatedCost <= v.CostLimit {
			continue
		}
		for _, c := range rule.Culprits {
			key := c.SchemaPointer + " " + c.Keyword
			if c.Suggested == 0 || seen[key] {
				continue
			}
			seen[key] = true
			r.add(finding{
				pointer: root + c.SchemaPointer, offset: -1, severity: severityInformation, code: codeCost,
				message: fmt.Sprintf("With %s: %d, the cost of the rule at %s would be within its limit.",
					c.Keyword, c.Suggested, rule.SchemaPointer),
				fixes: func(d *diagnosis.Document) []diagnosis.Fix { return d.SetBound(v.Index, c) },
			})
		}
	}
}

// checkObject adds the findings of the creation of an object, or of its update if it is stored.
func (w *folders) checkObject(ctx context.Context, r *result, m *workspace.Manifest, settings Settings) {
	group, version, _ := strings.Cut(m.APIVersion, "/")
	if version == "" {
		group, version = "", group
	}
	c := w.ofKind(group, m.Kind)
	r.used[groupKind{group, m.Kind}] = nil
	if c == nil {
		w.unknownKind(r, group, m)
		return
	}
	d, failure := c.compile(ctx, settings.KubernetesMinor)
	r.used[groupKind{group, m.Kind}] = d
	if d == nil {
		r.add(finding{pointer: "/kind", offset: -1, severity: severityWarning, code: codeUnchecked,
			message: fmt.Sprintf("The object is not checked: the CRD %s in %s is rejected: %s", c.name, c.file, failure)})
		return
	}
	item := engine.Item{Object: m.Document, OldObject: r.stored.object(m)}
	if m.Namespace == "" && d.Scope() == engine.NamespaceScoped {
		item.Namespace = settings.Namespace
	}
	options := engine.EvaluationOptions{
		FieldValidation: engine.FieldValidationWarn, View: engine.ViewChanged, CompleteMetadata: true,
	}
	verdict, err := d.Validate(ctx, item, options)
	if err != nil && !item.OldObject.Absent() { // the stored object is invalid
		item.OldObject = engine.Document{}
		verdict, err = d.Validate(ctx, item, options)
	}
	if err != nil {
		if reason := engine.ReasonOf(err); reason == engine.ReasonVersionNotFound || reason == engine.ReasonVersionNotServed {
			f := finding{pointer: "/apiVersion", offset: -1, severity: severityError, code: codeUnchecked, message: err.Error()}
			var values []json.RawMessage
			for _, v := range c.versions {
				if v.Served {
					values = append(values, json.RawMessage(strconv.Quote(group+"/"+v.Name)))
				}
			}
			f.fixes = func(d *diagnosis.Document) []diagnosis.Fix { return d.Change(f.pointer, values...) }
			r.add(f)
			return
		}
		r.failed(m, err)
		return
	}
	for i := range len(verdict.Violations) + len(verdict.Ratcheted) {
		var f *finding
		var v *engine.Violation
		if i < len(verdict.Violations) {
			v = &verdict.Violations[i]
			f = r.violation(m, v, severityError)
		} else {
			v = &verdict.Ratcheted[i-len(verdict.Violations)]
			f = r.violation(m, v, severityInformation)
			f.message += " (ratcheted: allowed because the update does not change the value)"
		}
		f.crd, f.version = c, version
		f.fixes = func(d *diagnosis.Document) []diagnosis.Fix {
			return d.Violation(v, c.schema(version).field(v.Pointer))
		}
	}
	severity := map[engine.FieldValidation]int{
		engine.FieldValidationStrict: severityError, engine.FieldValidationWarn: severityWarning,
		engine.FieldValidationIgnore: severityInformation,
	}[settings.FieldValidation]
	for i := range verdict.Pruned {
		p := &verdict.Pruned[i]
		r.add(finding{
			pointer: p.Pointer, offset: offsetOf(p.Position), severity: severity, code: codeUnknown,
			message: "unknown field " + p.Path, hint: p.Hint,
			fixes: func(d *diagnosis.Document) []diagnosis.Fix { return d.Unknown(p) },
		})
	}
	for i := range verdict.Warnings {
		if w := &verdict.Warnings[i]; w.Type != engine.TypeUnknownField && w.Type != engine.TypeRatcheted { // those are above
			r.warning(m, w, severity, group, d.Versions())
		}
	}
}

// unknownKind adds a finding for a kind without a CRD, unless it is a built-in kind of API servers.
func (w *folders) unknownKind(r *result, group string, m *workspace.Manifest) {
	f := finding{pointer: "/kind", offset: -1, severity: severityInformation, code: codeUnchecked}
	var kinds []string
	var values []json.RawMessage
	for _, c := range w.all() {
		if c.group == group {
			kind := strconv.Quote(c.kind)
			kinds, values = append(kinds, kind), append(values, json.RawMessage(kind))
		}
	}
	switch {
	case len(kinds) > 0:
		f.fixes = func(d *diagnosis.Document) []diagnosis.Fix { return d.Change(f.pointer, values...) }
		f.severity = severityWarning
		f.message = fmt.Sprintf("The object is not checked: no CRD of the group %s has the kind %s. Known kinds: %s",
			group, m.Kind, strings.Join(kinds[:min(len(kinds), 10)], ", "))
	case !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io"):
		return
	default:
		f.message = fmt.Sprintf("The object is not checked: no CRD of the group %s is known. "+
			"Add its CRD to the workspace, or name it with --crds or in .crdeval.yaml.", group)
	}
	r.add(f)
}

// failed adds the error of a document that could not be evaluated.
func (r *result) failed(m *workspace.Manifest, err error) {
	r.text(m, finding{severity: severityError, code: codeUnchecked}, err.Error())
	var e *engine.Error
	if errors.As(err, &e) && e.Position != nil {
		r.findings[len(r.findings)-1].offset = e.Position.Offset
	}
}

var lineInText = regexp.MustCompile(`\bline (\d+)`)

// rejected adds the rejection of a document without violations.
func (r *result) rejected(m *workspace.Manifest, message string, severity int) {
	r.text(m, finding{severity: severity, code: codeRejected}, message)
}

// warning adds a warning about an object. A duplicate field has the given severity.
func (r *result) warning(m *workspace.Manifest, w *engine.Warning, severity int, group string, of []engine.VersionInfo) {
	f := finding{
		pointer: w.Pointer, offset: offsetOf(w.Position), severity: severityWarning, code: codeWarning,
		message: w.Text, hint: w.Hint,
	}
	switch w.Type {
	case engine.TypeDuplicateField:
		f.severity, f.code = severity, codeDuplicate
	case engine.TypeDeprecated:
		f.fixes = func(d *diagnosis.Document) []diagnosis.Fix { return d.Deprecated(group, of) }
	}
	r.add(f)
}

// warned adds warnings, with the ranges and the fixes of their places. Duplicate fields have the given severity.
func (r *result) warned(m *workspace.Manifest, warnings []string, severity int,
	place func(of *diagnosis.Document, text string) diagnosis.Warned) {
	var d *diagnosis.Document
	for _, message := range warnings {
		f := finding{severity: severityWarning, code: codeWarning}
		if strings.Contains(message, `duplicate field "`) || strings.Contains(message, "already set in map") {
			f.severity, f.code = severity, codeDuplicate
		}
		r.text(m, f, message)
		last := &r.findings[len(r.findings)-1]
		if last.offset >= 0 { // the text has a line
			continue
		}
		if d == nil {
			d = diagnosis.New(string(m.JSON()), engine.Limits{MaxBytes: maxFixBytes}, 0)
		}
		of := place(d, message)
		if last.pointer = of.Pointer; of.Field != "" && of.Pointer != "" {
			last.code = codeUnknown
		}
		if of.Pointer != "" {
			last.fixes = func(d *diagnosis.Document) []diagnosis.Fix { return place(d, message).Fixes }
		}
	}
}

// text adds a message that can contain the number of a line.
func (r *result) text(m *workspace.Manifest, f finding, message string) {
	f.message, f.offset = message, -1
	if found := lineInText.FindStringSubmatch(message); found != nil && m.Document.YAML != nil {
		line, _ := strconv.Atoi(found[1])
		f.offset = offsetOfLine(m.Document.YAML, line) + m.Position("", engine.Position{Line: 1}).Offset
	}
	r.add(f)
}

// offsetOfLine returns the offset of the text of a line, from 1.
func offsetOfLine(text []byte, line int) (offset int) {
	for ; line > 1 && offset < len(text); line-- {
		offset += len(lineAt(text, offset))
	}
	rest := lineAt(text, min(offset, len(text)))
	return offset + len(rest) - len(bytes.TrimLeft(rest, " \t"))
}

// text returns the text of a diagnostic. before is the number of lines in the file before the document.
func (f *finding) text(before int) string {
	message := workspace.ShiftLines(f.message, before)
	if f.hint != nil {
		message += " (" + f.hint.Text + ")"
	}
	return message
}

// span returns the begin and the end of a finding in a file. begin is that of its document.
func (f *finding) span(text []byte, docs []document, begin int) (int, int) {
	at := begin + max(f.offset, 0)
	n, exact := f.node(docs, begin)
	switch {
	case n == nil:
	case f.offset >= 0 && (at < n.start || at > max(n.end, n.keyEnd)): // the outline does not resolve aliases
	case f.offset < 0 || f.pointer != "" || f.item > 0:
		if f.code == codeUnknown || !exact || n.kind != scalar {
			return n.head()
		}
		return n.begin, n.end
	}
	at = min(at, len(text))
	rest := bytes.TrimRight(lineAt(text, at), " \t\r\n")
	if len(rest) == 0 && at > 0 { // the end of a line or of the file
		return max(at-1, begin), at
	}
	return at, at + len(rest)
}

// node returns the node of a finding, or the deepest node that contains it, and whether it is the node itself.
func (f *finding) node(docs []document, begin int) (n *node, exact bool) {
	i := slices.IndexFunc(docs, func(d document) bool { return begin >= d.begin && begin < d.end })
	if i < 0 {
		return nil, false
	}
	for i+1 < len(docs) && docs[i].root.kind == empty { // comments before the document
		i++
	}
	n = docs[i].root
	if f.item > 0 {
		if n, exact = n.find("/items/" + strconv.Itoa(f.item-1)); !exact {
			return nil, false
		}
	}
	return n.find(f.pointer)
}

// head returns the key of a node, or the first key in it.
func (n *node) head() (begin, end int) {
	switch {
	case n.index < 0 && n.parent != nil:
		return n.start, n.keyEnd
	case len(n.children) > 0 && n.kind == mapping:
		c := n.children[0]
		if n.parent == nil && c.kind == scalar {
			return c.start, c.end
		}
		return c.start, c.keyEnd
	case n.begin < n.end:
		return n.begin, n.end
	}
	return n.start, n.keyEnd
}
