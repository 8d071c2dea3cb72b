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
	Output          string   `short:"o" default:"text" enum:"text,json" help:"text, for people, or json: one object a CRD, one CRD a line."`
	KubernetesMinor int      `default:"0" help:"Judge as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
}

// judgement is the report on one document, spelled as over REST.
type judgement struct {
	File       string      `json:"file"`
	Document   int         `json:"document"` // from 1
	Name       string      `json:"name,omitempty"`
	Accepted   bool        `json:"accepted"`
	Violations []violation `json:"violations"`
	Warnings   []string    `json:"warnings"`
	Error      string      `json:"error,omitempty"` // the document could not be judged
}

type violation struct {
	Type     string          `json:"type"`
	Field    string          `json:"field"`
	Message  string          `json:"message"`
	BadValue json.RawMessage `json:"badValue,omitempty"`
	Pointer  string          `json:"pointer"`
	Line     int             `json:"line,omitempty"`
	Column   int             `json:"column,omitempty"`
}

// Run judges every document of every file, whatever becomes of the others.
func (c *checkCommand) Run(ctx context.Context, env environment) error {
	refused, unjudged := 0, 0
	for _, name := range c.Files {
		content, err := c.read(name, env)
		if err != nil {
			return err
		}
		documents, err := split(content)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for i, d := range documents {
			j := c.judge(ctx, d)
			j.File, j.Document = name, i+1
			if err := c.print(env.stdout, j, len(documents) > 1); err != nil {
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
	case unjudged > 0:
		return fmt.Errorf("%d documents could not be judged", unjudged)
	case refused > 0:
		return errRefused
	}
	return nil
}

func (c *checkCommand) read(name string, env environment) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(env.stdin)
	}
	return os.ReadFile(name)
}

// document is one of a file: where it begins, for positions.
type document struct {
	text  []byte
	lines int // before it
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
			all = append(all, document{text, bytes.Count(content[:offset], []byte("\n"))})
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
		out := violation{Type: v.Type, Field: v.Field, Message: v.Message, BadValue: v.BadValue, Pointer: v.Pointer}
		if v.Position != nil {
			out.Line, out.Column = v.Position.Line+d.lines, v.Position.Column
		}
		j.Violations = append(j.Violations, out)
	}
	if !report.Accepted && len(report.Violations) == 0 && report.Refusal != nil {
		j.Violations = append(j.Violations, violation{Type: report.Refusal.Reason, Message: report.Refusal.Message})
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
		fmt.Fprintf(&b, "%s: %s: accepted\n", where, j.Name)
	default:
		fmt.Fprintf(&b, "%s: %s: refused\n", where, j.Name)
	}
	for _, v := range j.Violations {
		place := j.File
		if v.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", j.File, v.Line, v.Column)
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
