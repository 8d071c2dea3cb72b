package main

import (
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// Kinds of differences. The first ones are errors of crdeval.
const (
	falseRejection  = "rejected, but Kubernetes accepts it"
	falseError      = "not evaluated because of an error, but Kubernetes accepts it"
	falseBuiltIn    = "an error for a kind of Kubernetes"
	falseUnreadable = "unreadable, but kubectl reads the file"
	falseCRD        = "the CRD is rejected, but Kubernetes accepts it"
	falseFragment   = "a fragment of a CRD is evaluated"
	falseAllowed    = "allowed, but Kubernetes rejects it"
	otherChoice     = "the nearest CRDs give different answers, but crdeval gives one"
	notEvaluated    = "skipped or missing, but Kubernetes accepts it (no error)"
)

// informational are the kinds that are no errors.
var informational = []string{notEvaluated}

func (r *result) failed() bool {
	for kind := range r.differences {
		if !slices.Contains(informational, kind) {
			return true
		}
	}
	return false
}

// compare compares the lines of crdeval with Kubernetes' answers.
func (r *result) compare(u *upstream, files []*file) {
	lines := map[key][]*line{}
	for _, l := range r.lines {
		lines[key{l.File, l.Kind, l.Name}] = append(lines[key{l.File, l.Kind, l.Name}], l)
	}
	readable := map[string]bool{}
	for _, f := range files {
		readable[f.name] = f.err == nil
		for _, m := range f.manifests {
			if m.isCRD() {
				r.compareCRD(m)
				continue
			}
			r.compareObject(m, u.answers(m), take(lines, m.key))
		}
	}
	for _, l := range r.lines {
		if l.Error != "" && l.Kind == "" && readable[l.File] {
			r.differ(falseUnreadable, "%s:%d: %s", l.File, l.Line, l.Error)
		}
	}
}

// differ reports whether some answers accept the object and others reject it.
func differ(answers []answer) bool {
	return slices.ContainsFunc(answers, func(a answer) bool { return a.accepted != answers[0].accepted })
}

// take removes the lines of the next manifest with a key. There are several lines if several CRDs apply.
func take(lines map[key][]*line, of key) []*line {
	list := lines[of]
	n := 0
	for n < len(list) && list[n].Document == list[0].Document && list[n].Item == list[0].Item {
		n++
	}
	lines[of] = list[n:]
	return list[:n]
}

// compareObject compares the lines of an object with Kubernetes' answers.
func (r *result) compareObject(m *manifest, answers []answer, lines []*line) {
	where := m.file + ": " + m.apiVersion + " " + m.kind + " " + m.name
	if len(lines) == 0 {
		if len(answers) > 0 && answers[0].accepted {
			r.differ(notEvaluated, "%s: %s", where, r.skipReason(m.file))
		}
		return
	}
	r.compared++
	l := lines[0]
	if len(answers) == 0 {
		if isBuiltIn(m.group()) && (l.Error != "" || l.Verdict != nil && !l.Verdict.Allowed) {
			r.differ(falseBuiltIn, "%s: %s", where, l.Error)
		}
		return
	}
	if differ(answers) {
		if len(lines) < 2 {
			r.differ(otherChoice, "%s: %s: %s", where, l.text(), describe(answers))
		}
		return
	}
	for _, l := range lines {
		switch accepted := answers[0].accepted; {
		case accepted && l.Skipped != "":
			r.differ(notEvaluated, "%s: %s", where, l.Skipped)
		case accepted && l.Error != "":
			r.differ(falseError, "%s: %s", where, l.Error)
		case accepted && !l.allowed() && !l.duplicates():
			r.differ(falseRejection, "%s: %s", where, l.text())
		case !accepted && l.allowed():
			r.differ(falseAllowed, "%s: %s", where, describe(answers))
		}
	}
}

// compareCRD compares the line of a CRD. Accepted CRDs can be missing in the output.
func (r *result) compareCRD(m *manifest) {
	var l *line
	for _, each := range r.lines {
		if each.File == m.file && each.Accepted != nil && each.Name == m.name {
			l = each
		}
	}
	if l == nil || *l.Accepted {
		return
	}
	registered, answer := oracle.Register(m.json, false)
	switch {
	case registered != nil && answer.Accepted():
		r.differ(falseCRD, "%s: %s: %s", m.file, m.name, l.Report.Rejection.Message)
	case registered != nil && (registered.Internal.Spec.Group == "" || registered.Internal.Spec.Names.Kind == ""):
		r.differ(falseFragment, "%s: %s", m.file, m.name)
	}
}

func (l *line) allowed() bool { return l.Verdict != nil && l.Verdict.Allowed }

// duplicates reports whether a key that occurs twice is a reason for the rejection. kubectl keeps the last one, and
// crdeval rejects it by intention.
func (l *line) duplicates() bool {
	for _, v := range l.Verdict.Violations {
		if v.Type == "DuplicateField" {
			return true
		}
	}
	return false
}

func (l *line) text() string {
	switch {
	case l.Error != "":
		return l.Error
	case l.Skipped != "":
		return l.Skipped
	case l.allowed():
		return "allowed"
	}
	return l.Verdict.Rejection.Message
}

func describe(answers []answer) string {
	var texts []string
	for _, a := range answers {
		text := a.text
		if a.accepted {
			text = "allowed"
		}
		texts = append(texts, a.crd+": "+text)
	}
	return strings.Join(texts, "; ")
}

// skipReason returns the reason for which a file is skipped.
func (r *result) skipReason(file string) string {
	for _, l := range r.lines {
		if l.File == file && l.Skipped != "" {
			return l.Skipped
		}
	}
	return "it is not in the output"
}
