package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/manifests"
)

type checkCommand struct {
	Files           []string `arg:"" help:"Files with CRDs, JSON or YAML, one or several documents each, lists too, or directories of such files; - is stdin." name:"file"`
	Output          string   `short:"o" default:"text" enum:"text,json" help:"text, for people, or json, for programs: an object a CRD, a CRD a line."`
	Old             []string `help:"A file with CRDs that are registered already: those of the same names are judged as updates of them, and their names are taken." placeholder:"FILE" sep:"none"`
	KubernetesMinor int      `default:"0" help:"Judge as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`
	Recursive       bool     `short:"R" help:"Take the directories in directories, too, but hidden ones."`
	SkipOtherKinds  bool     `help:"Pass over documents that are no CustomResourceDefinitions. Default: they are errors."`
	serviceFlags
}

// Help is what --help adds.
func (*checkCommand) Help() string {
	return `Prints of each CRD whether an API server would take it, what it has against it, its versions in their order of priority, what their rules may cost, and which Kubernetes they need. CRDs of one run count as registered one after the other in one cluster: one whose name an accepted one had before is judged as an update of that, as those of --old are, and names that conflict are warned of. A service registers nothing: with --server each is judged as an update of what is registered there, if anything is, and the CRDs of one run are nothing to one another.

Exit codes: 0, an API server would take every CRD; 1, it would refuse at least one; 2, something could not be judged (a file that cannot be read, a document that is no YAML or no CRD) or wrong usage. Everything that can be judged is judged and printed in any case; where both 1 and 2 apply, it is 2.`
}

// Validate checks the usage.
func (c *checkCommand) Validate() error {
	if c.Server != "" && len(c.Old) > 0 {
		return errors.New("--old says what is registered: leave it out with --server, which knows")
	}
	return c.validate(c.KubernetesMinor)
}

// Run judges every document of every file, whatever becomes of the others.
func (c *checkCommand) Run(ctx context.Context, env environment) error {
	env.recursive = c.Recursive
	if c.Server != "" {
		client, err := dial(c.Server, c.Catalog, c.Token, &c.tlsFlags)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		return c.run(ctx, &serviceRegistry{client: client, flags: &c.serviceFlags, checked: map[string]string{}}, env)
	}
	catalog := newCatalog(engine.Options{KubernetesMinor: c.KubernetesMinor})
	if err := c.register(ctx, catalog, env); err != nil {
		return err
	}
	return c.run(ctx, catalog, env)
}

func (c *checkCommand) run(ctx context.Context, catalog registry, env environment) error {
	judged, refused, unjudged := 0, 0, 0
	for _, name := range c.Files {
		for _, j := range c.judgeFiles(ctx, catalog, name, env) {
			if j.skipped {
				continue
			}
			judged++
			if err := c.print(env.stdout, j); err != nil {
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

// register takes the CRDs of --old as registered.
func (c *checkCommand) register(ctx context.Context, catalog *catalog, env environment) error {
	for _, name := range c.Old {
		list, err := crds(name, env)
		if err != nil {
			return err
		}
		for i := range list {
			if err := catalog.add(ctx, &list[i].source); err != nil {
				text, line, _ := list[i].InFile(err)
				if line > 0 {
					return fmt.Errorf("%s:%d: %s", name, line, text)
				}
				return fmt.Errorf("%s: %s", list[i].where(), text)
			}
		}
	}
	return nil
}

// judgeFiles judges the documents of a file, or of a directory's files.
func (c *checkCommand) judgeFiles(ctx context.Context, catalog registry, name string, env environment) (all []judgement) {
	files, err := filesOf(name, env.recursive)
	if err != nil {
		return []judgement{unread(name, err)}
	}
	for _, file := range files {
		all = append(all, c.judgeFile(ctx, catalog, file, env)...)
	}
	return all
}

// unread is the judgement on a file that cannot be read.
func unread(name string, err error) judgement {
	return judgement{File: name, Violations: []violation{}, Warnings: []string{}, Error: err.Error(), where: name}
}

// judgeFile judges the documents of a file. One that cannot be read is one judgement, on the file.
func (c *checkCommand) judgeFile(ctx context.Context, catalog registry, name string, env environment) []judgement {
	list, err := sourcesOf(name, env)
	if err != nil {
		return []judgement{unread(name, err)}
	}
	all := make([]judgement, 0, len(list))
	for i := range list {
		all = append(all, c.judge(ctx, catalog, &list[i]))
	}
	return all
}

func (c *checkCommand) judge(ctx context.Context, catalog registry, s *source) judgement {
	j := judgement{File: s.file, Document: s.document, Item: s.item, Violations: []violation{}, Warnings: []string{}, where: s.where()}
	if apiVersion, kind, is := s.isCRD(); !is {
		j.skipped = c.SkipOtherKinds
		j.Error = fmt.Sprintf("this is a %s (%s) and no %s: leave it out, or pass over such documents with --skip-other-kinds", kind, apiVersion, manifests.CRDKind)
		j.Line = s.Begin()
		return j
	}
	catalog.check(ctx, s, &j)
	return j
}

// judgement is the report on one document. What REST tells as well is spelled as there.
type judgement struct {
	File       string      `json:"file"`
	Document   int         `json:"document"`       // from 1; 0: the whole file
	Item       int         `json:"item,omitempty"` // of a document that is a list: from 1
	Name       string      `json:"name,omitempty"`
	Update     bool        `json:"update,omitempty"` // of one in --old, or accepted before it in the run
	Accepted   bool        `json:"accepted"`
	Refusal    *refusal    `json:"rejection,omitempty"`
	Violations []violation `json:"violations"`
	Warnings   []string    `json:"warnings"`
	Names      *condition  `json:"namesAccepted,omitempty"` // where they conflict with another CRD's
	// LowestMinor is the oldest Kubernetes minor that knows all formats and compiles all rules.
	LowestMinor        int             `json:"lowestMinor,omitempty"`
	LowestMinorBecause string          `json:"lowestMinorReason,omitempty"`
	Versions           []judgedVersion `json:"versions,omitempty"`
	Error              string          `json:"error,omitempty"` // the document could not be judged
	Line               int             `json:"line,omitempty"`  // of the error, where it is known

	skipped bool // it is of another kind
	where   string
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

// text is the finding as an API server words it.
func (v *violation) text() string {
	if v.Field == "" {
		return v.Message
	}
	return v.Field + ": " + v.Message
}

// position is one in the file.
type position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Offset int `json:"offset"`
}

// violationsOf takes down findings, with their places in the file.
func violationsOf(s *source, list []engine.Violation) []violation {
	all := make([]violation, len(list))
	for i := range list {
		v := &list[i]
		all[i] = violation{
			Type: v.Type, Field: v.Field, Message: v.Message, Detail: v.Detail, BadValue: v.BadValue, Pointer: v.Pointer, SchemaPointer: v.SchemaPointer,
			Position: s.place(v.Pointer, v.Position),
		}
	}
	return all
}

// report takes down what the engine says.
func (j *judgement) report(s *source, r *engine.Report) {
	j.Name, j.Update, j.Accepted = r.Name, r.Update, r.Accepted
	j.Warnings = append(j.Warnings, r.Warnings...)
	j.LowestMinor, j.LowestMinorBecause = r.LowestMinor, r.LowestMinorBecause
	j.Versions = versionsOf(r)
	j.Violations = violationsOf(s, r.Violations)
	if r.Refusal != nil {
		j.Refusal = &refusal{Code: r.Refusal.Code, Reason: r.Refusal.Reason, Message: r.Refusal.Message}
	}
}
