package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/crdeval/crdeval/engine"
)

type checkCommand struct {
	Files           []string `arg:"" help:"Files with CRDs, JSON or YAML, one or several documents each; - is stdin." name:"file"`
	Output          string   `short:"o" default:"text" enum:"text,json" help:"text, for people, or json, for programs: an object a CRD, a CRD a line."`
	KubernetesMinor int      `default:"0" help:"Judge as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
}

// judgement is the report on one document. What REST tells as well is spelled as there.
type judgement struct {
	File       string      `json:"file"`
	Document   int         `json:"document"` // from 1; 0: the whole file
	Name       string      `json:"name,omitempty"`
	Accepted   bool        `json:"accepted"`
	Refusal    *refusal    `json:"refusal,omitempty"`
	Violations []violation `json:"violations"`
	Warnings   []string    `json:"warnings"`
	Error      string      `json:"error,omitempty"` // the document could not be judged
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
	refused, unjudged := 0, 0
	for _, name := range c.Files {
		all := c.judgeFile(ctx, name, env)
		for _, j := range all {
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
	case refused > 0:
		return errRefused
	}
	return nil
}

// judgeFile judges the documents of a file. One that cannot be read is one judgement, on the file.
func (c *checkCommand) judgeFile(ctx context.Context, name string, env environment) []judgement {
	content, err := c.read(name, env)
	var documents []document
	if err == nil {
		documents, err = split(content)
	}
	if err != nil {
		return []judgement{{File: name, Violations: []violation{}, Warnings: []string{}, Error: err.Error()}}
	}
	all := make([]judgement, len(documents))
	for i, d := range documents {
		all[i] = c.judge(ctx, d)
		all[i].File, all[i].Document = name, i+1
	}
	return all
}

func (c *checkCommand) read(name string, env environment) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(env.stdin)
	}
	return os.ReadFile(name)
}

// document is one of a file: where it begins, for positions.
type document struct {
	text   []byte
	lines  int // before it
	offset int // in bytes
}

// split cuts a stream of YAML documents where kubectl cuts it. Documents without content are left out.
func split(content []byte) ([]document, error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	var all []document
	offset := 0
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if at := bytes.Index(content[offset:], text); at >= 0 {
			offset += at
		}
		if hasContent(text) {
			all = append(all, document{text, bytes.Count(content[:offset], []byte("\n")), offset})
		}
		offset += len(text)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no document in it")
	}
	return all, nil
}

// hasContent says whether there is anything but comments and white space.
func hasContent(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return true
		}
	}
	return false
}

func (c *checkCommand) judge(ctx context.Context, d document) judgement {
	j := judgement{Violations: []violation{}, Warnings: []string{}}
	manifest := engine.YAML(d.text)
	if json.Valid(d.text) {
		manifest = engine.JSON(d.text)
	}
	report, err := engine.Check(ctx, manifest, engine.Options{KubernetesMinor: c.KubernetesMinor})
	if err != nil {
		j.Error = err.Error()
		return j
	}
	j.Name, j.Accepted = report.Name, report.Accepted
	j.Warnings = append(j.Warnings, report.Warnings...)
	for _, v := range report.Violations {
		out := violation{
			Type: v.Type, Field: v.Field, Message: v.Message, Detail: v.Detail, BadValue: v.BadValue, Pointer: v.Pointer, SchemaPointer: v.SchemaPointer,
		}
		if p := v.Position; p != nil {
			out.Position = &position{Line: p.Line + d.lines, Column: p.Column, Offset: p.Offset + d.offset}
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
	var b bytes.Buffer
	switch {
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
