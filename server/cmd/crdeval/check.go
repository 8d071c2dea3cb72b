package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/manifests"
)

type checkCommand struct {
	Files           []string `arg:"" help:"Files with CRDs, JSON or YAML, one or several documents each, lists too; - is stdin." name:"file"`
	Output          string   `short:"o" default:"text" enum:"text,json" help:"text, for people, or json, for programs: an object a CRD, a CRD a line."`
	KubernetesMinor int      `default:"0" help:"Judge as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	SkipOtherKinds  bool     `help:"Pass over documents that are no CustomResourceDefinitions. Default: they are errors."`
}

// Help is what --help adds.
func (*checkCommand) Help() string {
	return `Exit codes: 0, an API server would take every CRD; 1, it would refuse at least one; 2, something could not be judged (a file that cannot be read, a document that is no YAML or no CRD) or wrong usage. Everything that can be judged is judged and printed in any case; where both 1 and 2 apply, it is 2.`
}

// judgement is the report on one document. What REST tells as well is spelled as there.
type judgement struct {
	File       string          `json:"file"`
	Document   int             `json:"document"`       // from 1; 0: the whole file
	Item       int             `json:"item,omitempty"` // of a document that is a list: from 1
	Name       string          `json:"name,omitempty"`
	Accepted   bool            `json:"accepted"`
	Refusal    *refusal        `json:"refusal,omitempty"`
	Violations []violation     `json:"violations"`
	Warnings   []string        `json:"warnings"`
	Versions   []judgedVersion `json:"versions,omitempty"`
	Error      string          `json:"error,omitempty"` // the document could not be judged
	Line       int             `json:"line,omitempty"`  // of the error, where it is known

	skipped bool // it is of another kind
}

type refusal struct {
	Code    int32  `json:"code"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

type violation struct {
	Type          string          `json:"type"`
	Field         string          `json:"field"`
	Message       string          `json:"message"`
	Detail        string          `json:"detail"`
	BadValue      json.RawMessage `json:"badValue,omitempty"`
	Pointer       string          `json:"pointer"`
	SchemaPointer string          `json:"schemaPointer"`
	Position      *position       `json:"position,omitempty"`
}

// position is one in the file.
type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset"`
}

// Run judges every document of every file, whatever becomes of the others.
func (c *checkCommand) Run(ctx context.Context, env environment) error {
	judged, refused, unjudged := 0, 0, 0
	for _, name := range c.Files {
		all := c.judgeFile(ctx, name, env)
		for _, j := range all {
			if j.skipped {
				continue
			}
			judged++
			if err := c.print(env.stdout, j, len(all) > 1); err != nil {
				return err
			}
			switch {
			case j.Error != "":
				unjudged++
			case !j.Accepted:
				refused++
			}
		}
	}
	switch {
	case unjudged == 1:
		return errors.New("one document could not be judged")
	case unjudged > 0:
		return fmt.Errorf("%d documents could not be judged", unjudged)
	case judged == 0:
		return errors.New("there is no CustomResourceDefinition among the documents")
	case refused > 0:
		return errRefused
	}
	return nil
}

// judgeFile judges the documents of a file. One that cannot be read is one judgement, on the file.
func (c *checkCommand) judgeFile(ctx context.Context, name string, env environment) []judgement {
	content, err := c.read(name, env)
	var documents []manifests.Document
	if err == nil {
		documents, err = manifests.Split(content)
	}
	if err != nil {
		return []judgement{{File: name, Violations: []violation{}, Warnings: []string{}, Error: err.Error()}}
	}
	var all []judgement
	for i, d := range documents {
		for item, m := range d.Manifests() {
			j := c.judge(ctx, m)
			j.File, j.Document, j.Item = name, i+1, item
			all = append(all, j)
		}
	}
	return all
}

func (c *checkCommand) read(name string, env environment) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(env.stdin)
	}
	return os.ReadFile(name)
}

func (c *checkCommand) judge(ctx context.Context, m manifests.Manifest) judgement {
	j := judgement{Violations: []violation{}, Warnings: []string{}}
	if apiVersion, kind, err := engine.TypeMetaOf(m.Document, engine.Limits{}); err == nil && kind != "" && kind != manifests.CRDKind {
		j.skipped = c.SkipOtherKinds
		j.Error = fmt.Sprintf("this is a %s (%s) and no %s: leave it out, or pass over such documents with --skip-other-kinds", kind, apiVersion, manifests.CRDKind)
		j.Line = m.Begin()
		return j
	}
	report, err := engine.Check(ctx, m.Document, engine.Options{KubernetesMinor: c.KubernetesMinor})
	if err != nil {
		j.Error, j.Line, _ = m.InFile(err)
		return j
	}
	j.Name, j.Accepted = report.Name, report.Accepted
	j.Warnings = append(j.Warnings, report.Warnings...)
	j.Versions = versionsOf(report)
	for _, v := range report.Violations {
		out := violation{
			Type: v.Type, Field: v.Field, Message: v.Message, Detail: v.Detail, BadValue: v.BadValue, Pointer: v.Pointer, SchemaPointer: v.SchemaPointer,
		}
		if p := v.Position; p != nil {
			at := m.Place(v.Pointer, *p)
			out.Position = &position{Line: at.Line, Column: at.Column, Offset: at.Offset}
		}
		j.Violations = append(j.Violations, out)
	}
	if r := report.Refusal; r != nil {
		j.Refusal = &refusal{Code: r.Code, Reason: r.Reason, Message: r.Message}
	}
	return j
}

func (c *checkCommand) print(w io.Writer, j judgement, numbered bool) error {
	if c.Output == "json" {
		return json.NewEncoder(w).Encode(j)
	}
	where := j.File
	if numbered {
		where = fmt.Sprintf("%s[%d]", j.File, j.Document)
	}
	if j.Item > 0 {
		where += fmt.Sprintf(".items[%d]", j.Item-1)
	}
	var b bytes.Buffer
	switch {
	case j.Error != "" && j.Line > 0:
		fmt.Fprintf(&b, "%s:%d: error: %s\n", j.File, j.Line, j.Error)
	case j.Error != "":
		fmt.Fprintf(&b, "%s: error: %s\n", where, j.Error)
	case j.Accepted:
		fmt.Fprintf(&b, "%s: accepted\n", where+named(j.Name))
	default:
		fmt.Fprintf(&b, "%s: refused\n", where+named(j.Name))
		if len(j.Violations) == 0 && j.Refusal != nil {
			fmt.Fprintf(&b, "  %s: %s\n", j.File, j.Refusal.Message)
		}
	}
	for _, v := range j.Violations {
		place := j.File
		if p := v.Position; p != nil {
			place = fmt.Sprintf("%s:%d:%d", j.File, p.Line, p.Column)
		}
		text := v.Message
		if v.Field != "" {
			text = v.Field + ": " + v.Message
		}
		fmt.Fprintf(&b, "  %s: %s\n", place, text)
	}
	printBounds(&b, j.Versions)
	for _, warning := range j.Warnings {
		fmt.Fprintf(&b, "  warning: %s\n", warning)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// named is what stands behind the file: the CRD's name, nothing if it has none that could be read.
func named(crd string) string {
	if crd == "" {
		return ""
	}
	return ": " + crd
}
