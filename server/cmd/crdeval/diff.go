package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/manifests"
)

type diffCommand struct {
	Files   []string `arg:"" name:"file" help:"OLD and NEW: files with CRDs, JSON or YAML, one or several documents each, or directories of such files; - is stdin. With --server, NEW alone."`
	Objects []string `help:"Files, or directories of files, with objects to replay under both, as kubectl get -o yaml prints them or as they are applied." placeholder:"FILE" sep:"none"`
	Output  string   `short:"o" default:"text" enum:"text,json" help:"text, for people, or json, for programs: an object a CRD, a CRD a line."`
	FailOn  string   `default:"breaking" enum:"breaking,care,never" help:"The class from which on the exit code is 1: breaking, care, or never."`
	Partial bool     `help:"NEW has only some of OLD's CRDs: the others stay. Default: they would be deleted, which is breaking."`
	Show    string   `default:"compatible" enum:"breaking,care,compatible" help:"The class from which on changes are printed as text: breaking, care or compatible."`

	KubernetesMinor int `default:"0" help:"Judge as Kubernetes 1.N would. Default: the newest that is known." placeholder:"N"`

	Server   string `help:"Compare with what is registered at this service: HOST:PORT or unix:///PATH of its gRPC listener." placeholder:"ADDRESS"`
	Catalog  string `default:"default" help:"With --server: the catalog." placeholder:"NAME"`
	CRD      string `name:"crd" help:"With --server: the registered CRD to compare with. Default: the one of NEW's name." placeholder:"NAME"`
	Revision string `help:"With --server: the revision of it. Default: the current one." placeholder:"REVISION"`
	Token    string `help:"With --server: the bearer token to present. Better in the environment." placeholder:"TOKEN"`
	tlsFlags
}

// Help is what --help adds.
func (*diffCommand) Help() string {
	return `Says what changes if NEW replaces OLD, and what each change means for objects in storage, for clients that write and for clients that read: compatible, care or breaking. CRDs of several documents are paired by name; other kinds are passed over. Objects given are evaluated under both: those that are newly refused, kept by ratcheting alone, or pruned, defaulted or converted otherwise are printed.

Exit codes: 0, nothing of the class of --fail-on or worse; 1, something is (an API server refusing NEW is breaking, and so is an object that is newly refused or loses fields); 2, something could not be compared, or wrong usage.`
}

// Validate checks the usage.
func (c *diffCommand) Validate() error {
	want, hint := 2, "give OLD and NEW, or one file and --server"
	if c.Server != "" {
		want, hint = 1, "with --server, give NEW alone"
	}
	switch {
	case len(c.Files) != want:
		return fmt.Errorf("%s: %s", counted(len(c.Files), "file", "files"), hint)
	case c.Server == "" && (c.CRD != "" || c.Revision != "" || c.Token != "" || c.set()):
		return errors.New("--crd, --revision, --token and the TLS options are for --server")
	case c.Server != "" && c.KubernetesMinor != 0:
		return errors.New("--kubernetes-minor is the catalog's: leave it out with --server")
	}
	stdin := 0
	for _, name := range append(c.Files[:len(c.Files):len(c.Files)], c.Objects...) {
		if name == "-" {
			stdin++
		}
	}
	if stdin > 1 {
		return errors.New("stdin can be read once: give one - at most")
	}
	return nil
}

// Run compares every pair of CRDs, whatever becomes of the others.
func (c *diffCommand) Run(ctx context.Context, env environment) error {
	objects, err := c.objects(env)
	if err != nil {
		return err
	}
	compared, err := c.compare(ctx, env, objects)
	if err != nil {
		return err
	}
	worst, failed := compatible, 0
	for _, d := range compared {
		if c.Output == "json" {
			err = json.NewEncoder(env.stdout).Encode(d)
		} else {
			err = d.print(env.stdout, c.Show)
		}
		if err != nil {
			return err
		}
		if d.Error != "" {
			failed++
		}
		for _, r := range d.Replayed {
			if r.Error != "" && len(r.Outcomes) == 0 {
				failed++
			}
		}
		worst = graver(worst, d.worst())
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%s could not be compared", counted(failed, "document", "documents"))
	case c.FailOn != "never" && rank[worst] >= rank[c.FailOn]:
		return errRefused
	}
	return nil
}

// objects reads the objects to replay.
func (c *diffCommand) objects(env environment) ([]object, error) {
	var all []object
	for _, name := range c.Objects {
		list, err := sourcesIn(name, env)
		if err != nil {
			return nil, err
		}
		for i := range list {
			all = append(all, object{source: list[i], identity: list[i].identity()})
		}
	}
	return all, nil
}

// crds are the CRDs of a file, or of a directory's files; what else is in it is passed over, if it can be read.
func crds(name string, env environment) ([]object, error) {
	list, err := sourcesIn(name, env)
	if err != nil {
		return nil, err
	}
	var all []object
	for i := range list {
		_, kind, err := engine.TypeMetaOf(list[i].Document, engine.Limits{})
		if err != nil && len(list) > 1 { // nobody knows what it is; alone it is a CRD, of which everything else tells
			text, line, _ := list[i].InFile(err)
			return nil, fmt.Errorf("%s:%d: %s", list[i].file, max(line, list[i].Begin()), text)
		}
		if kind == manifests.CRDKind || kind == "" && len(list) == 1 {
			all = append(all, object{source: list[i], identity: list[i].identity()})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: there is no CustomResourceDefinition among the documents", name)
	}
	return all, nil
}

// object is a manifest with its names.
type object struct {
	source
	identity
}

// of says whether it is an object of a CRD.
func (o *object) of(crd *identity) bool {
	group, _, _ := cutAPIVersion(o.APIVersion)
	return group == crd.Spec.Group && o.Kind == crd.Spec.Names.Kind
}

// compare compares the files with each other, or one with what is registered.
func (c *diffCommand) compare(ctx context.Context, env environment, objects []object) ([]*difference, error) {
	if c.Server != "" {
		return c.compareRegistered(ctx, env, objects)
	}
	old, err := crds(c.Files[0], env)
	if err != nil {
		return nil, err
	}
	new, err := crds(c.Files[1], env)
	if err != nil {
		return nil, err
	}
	var all []*difference
	known, met := map[string]*object{}, map[string]bool{}
	for i := range old {
		known[old[i].Metadata.Name] = &old[i]
	}
	single := len(old) == 1 && len(new) == 1
	for i := range new {
		n := &new[i]
		o := known[n.Metadata.Name]
		if single {
			o = &old[0]
		}
		if o == nil {
			all = append(all, c.created(ctx, n))
			continue
		}
		met[o.Metadata.Name] = true
		all = append(all, c.pair(ctx, o, n, objects))
	}
	for i := range old {
		if o := &old[i]; !single && !c.Partial && !met[o.Metadata.Name] {
			d := newDifference(o.Metadata.Name, o.where(), c.Files[1])
			d.Class, d.Gone, d.old = breaking, true, &o.source
			all = append(all, d)
		}
	}
	return all, nil
}

// newDifference has empty lists rather than none.
func newDifference(name, old, new string) *difference {
	return &difference{Name: name, Old: old, New: new, Violations: []violation{}, Warnings: []string{}, Changes: []change{}}
}

// created judges a CRD that the old file does not have.
func (c *diffCommand) created(ctx context.Context, n *object) *difference {
	d := newDifference(n.Metadata.Name, c.Files[0], n.where())
	d.Class, d.Created, d.new = compatible, true, &n.source
	report, err := engine.Check(ctx, n.Document, engine.Options{KubernetesMinor: c.KubernetesMinor})
	if err != nil {
		d.fail(&n.source, err)
		return d
	}
	d.report(report)
	return d
}

// pair compares two CRDs, and replays the objects of theirs.
func (c *diffCommand) pair(ctx context.Context, o, n *object, objects []object) *difference {
	d := newDifference(n.Metadata.Name, o.where(), n.where())
	d.old, d.new = &o.source, &n.source
	options := engine.Options{KubernetesMinor: c.KubernetesMinor}
	found, err := engine.Compare(ctx, o.Document, n.Document, options)
	if err != nil {
		at := &n.source
		if _, _, broken := engine.ExistingFrom(o.Document, engine.Limits{}); broken != nil {
			at = &o.source
		}
		d.fail(at, err)
		return d
	}
	d.report(found.Report)
	d.take(found)
	if !found.Report.Accepted {
		return d
	}
	d.replay(ctx, &o.identity, objects, func() (old, new *engine.Definition, err error) {
		name, existing, err := engine.ExistingFrom(o.Document, engine.Limits{})
		if err != nil {
			return nil, nil, err
		}
		if old, err = engine.CompileStored(ctx, existing.Manifest, options); err != nil {
			return nil, nil, err
		}
		options := options
		options.Existing = func(asked string) *engine.Existing {
			if asked != name {
				return nil
			}
			return existing
		}
		new, _, err = engine.Compile(ctx, n.Document, options)
		return old, new, err
	})
	return d
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
