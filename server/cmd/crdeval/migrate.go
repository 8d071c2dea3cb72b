package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/resume"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

type migrateCommand struct {
	Files []string `arg:"" optional:"" help:"Files or directories with stored objects; - for stdin. Files with one JSON object per line can have any size. With --kubeconfig or --context: the name of the CRD." name:"file" ext:"yaml,yml,json"`
	CRDs  []string `name:"crds" help:"File or directory with CRDs and conversion rules." placeholder:"FILE" ext:"yaml,yml,json" sep:"none"`
	CRD   string   `name:"crd" help:"Name of the CRD to migrate. Default: the CRD of each object. Required for a cluster and with --write." placeholder:"NAME"`
	inputFlags

	Kubeconfig string `help:"Migrate objects in the cluster of this kubeconfig file. Without --write, nothing is written." placeholder:"FILE"`
	Context    string `help:"Migrate objects in the cluster of this context of the kubeconfig file. Default file: as for kubectl." placeholder:"NAME"`
	Write      bool   `help:"In a cluster: update each object without a change, so that it is stored in the storage version. Then set status.storedVersions of the CRD. With --server: set the stored versions of the CRD in the catalog."`

	Out          string `help:"Directory for the migrated objects, one file per object. Default: stdout, one object per line." placeholder:"DIR"`
	State        string `help:"File for the progress. A run with the same file continues where the last one ended." placeholder:"FILE"`
	Progress     string `default:"auto" enum:"auto,always,never" help:"Print the progress of long runs on stderr. auto: on a terminal."`
	serviceFlags `group:"Service"`
}

// newMigrate declares crdeval migrate.
func newMigrate(i *invocation) *cobra.Command {
	return i.declare(&cobra.Command{
		Use: "migrate", GroupID: groupConvert,
		Short: "Migrate stored objects to the storage version of their CRD.",
		Long: `Reads objects at any version, and prints them as JSON at the storage version, as an API server reads them: pruned, with defaults, and converted. Objects that already have the storage version are printed unchanged. Errors of objects do not end the run, and are listed at its end.

Reports rejected CRDs and conversion rules, and does not migrate the objects of these CRDs. With --crd, the other CRDs need not be valid.

With --kubeconfig or --context, reads the objects of a cluster in pages. Without --write, prints them at the storage version and changes nothing. With --write, updates each object without a change, so that the API server stores it in the storage version. If another client changes an object at the same time, tries again. Skips deleted objects. When all objects are migrated, sets status.storedVersions of the CRD to the storage version.

SIGINT and SIGTERM end the run after the current object. With --state, the next run continues there. If the process is killed, the next run repeats at most the last page of a cluster, or the last 200 documents of files. Writing an object again changes nothing.

Exit code 0: all objects are migrated. Exit code 1: the CRD of --crd or its rules are rejected, or an object cannot be migrated. Exit code 2: the run was interrupted, files or the cluster could not be read, the files have no object, or the usage is wrong.`,
		Example: `  crdeval migrate --crds crds/ - <stored.ndjson >migrated.ndjson
  crdeval migrate --context prod crontabs.example.com --write --state migration.json`,
	}, &migrateCommand{})
}

// inCluster reports whether the objects of a cluster are migrated.
func (c *migrateCommand) inCluster() bool { return c.Kubeconfig != "" || c.Context != "" }

func (c *migrateCommand) Validate() error {
	if c.inCluster() && c.CRD == "" && len(c.Files) == 1 {
		c.CRD, c.Files = c.Files[0], nil
	}
	switch {
	case c.inCluster() && len(c.Files) > 0:
		return errors.New("files cannot be used with --kubeconfig and --context: their only argument is the name of the CRD")
	case c.inCluster() && c.Server != "":
		return errors.New("--server cannot be used with --kubeconfig and --context")
	case !c.inCluster() && len(c.Files) == 0:
		return errors.New(`expected FILE..., --kubeconfig or --context`)
	case !c.inCluster() && len(c.CRDs) == 0 && c.Server == "":
		return errors.New("missing flags: --crds=FILE, or --server")
	case c.inCluster() && c.CRD == "", c.Write && c.CRD == "":
		return errors.New("missing the name of the CRD: use --crd=NAME")
	case c.Write && !c.inCluster() && c.Server == "":
		return errors.New("--write needs --kubeconfig, --context or --server")
	case c.Write && c.inCluster() && c.Out != "":
		return errors.New("--out cannot be used with --write in a cluster")
	case isStdinTwice(c.Files, c.CRDs):
		return errStdinTwice
	}
	return c.validate()
}

// storage is the CRD of a kind, with its storage version. revision changes with the CRD, its conversion rules and the
// version. err says why its objects cannot be migrated.
type storage struct {
	crd, version, revision string
	err                    error
}

// migration is a run.
type migration struct {
	*migrateCommand
	env   environment
	v     *converter // nil for writes in a cluster
	kinds map[schema.GroupKind]storage
	state *resume.State
	meter *terminal.Meter
	all   int // objects; 0 if unknown
	// paths has the digests of the paths that --out has for the objects of files.
	paths map[[16]byte]struct{}
}

// Run migrates the objects of files or of a cluster.
func (c *migrateCommand) Run(ctx context.Context, env environment) error {
	m := &migration{migrateCommand: c, env: env, kinds: map[schema.GroupKind]storage{}, paths: map[[16]byte]struct{}{},
		meter: terminal.NewMeter(c.Progress, terminal.Unescaped(env.stderr), 0)}
	crds, rules, err := env.files(c.Recursive).CRDsAndRules(ctx, c.CRDs...)
	if err != nil {
		return err
	}
	if c.Out != "" {
		if err := os.MkdirAll(c.Out, 0o750); err != nil {
			return err
		}
	}
	if c.inCluster() {
		err = m.migrateCluster(ctx, rules)
	} else {
		err = m.migrateFiles(ctx, crds, rules)
	}
	m.meter.End()
	if m.state == nil || err != nil && !m.state.Finished {
		if m.state != nil && c.State != "" {
			err = fmt.Errorf("%w; %s done: run the command again to continue", err, counted(m.state.Count(), "object"))
		}
		return err
	}
	m.summarize()
	if err == nil && len(m.state.Failed) > 0 {
		return errRejected
	}
	return err
}

// connect opens what converts, with the CRDs and rules of files. Only the CRD of --crd and its rules must be
// accepted. Without --crd, objects of rejected CRDs are not migrated.
func (m *migration) connect(ctx context.Context, crds, rules []*workspace.Manifest) (close func(), err error) {
	evaluation, err := m.open()
	if err != nil {
		return nil, err
	}
	m.v = newConverter(evaluation)
	rejected := map[string]error{}
	for _, s := range slices.Concat(crds, rules) {
		j := m.v.add(ctx, s)
		name := cmp.Or(s.CRD, s.Name)
		needed := name == "" || name == m.CRD
		switch {
		case ctx.Err() != nil: // it is not the reason of a rejection
			err = input.ErrInterrupted
		case j.Error == "" && j.Accepted:
			continue
		case needed && j.Error != "":
			err = fmt.Errorf("%s: %s", errorPlace(s, j.Line, j.Column), j.Error)
		case needed:
			err = errors.Join(j.print(m.env.stderr), errRejected)
		default:
			rejected[name] = cmp.Or(rejected[name], errNotUsable(j))
			if m.CRD != "" {
				_, err = fmt.Fprint(m.env.stderr, "warning: ")
			}
			err = cmp.Or(err, j.print(m.env.stderr))
		}
		if err != nil {
			m.v.close()
			return nil, err
		}
	}
	if err := m.findKinds(ctx, rejected); err != nil {
		m.v.close()
		return nil, err
	}
	return m.v.close, nil
}

// errNotUsable is the error for objects whose CRD or conversion rules are rejected, or could not be checked.
func errNotUsable(j *crdReport) error {
	what, verdict := "its CRD", "was rejected"
	if j.source.Conversion {
		what, verdict = "the conversion rules of its CRD", "were rejected"
	}
	if j.Error != "" {
		verdict = "could not be checked"
	}
	return fmt.Errorf("%s in %s %s", what, where(j.source), verdict)
}

// findKinds determines the storage versions: those of CRDs in files take precedence over those of the catalog. rejected
// has an error for the name of each CRD whose objects cannot be migrated.
func (m *migration) findKinds(ctx context.Context, rejected map[string]error) error {
	for _, j := range m.v.given {
		crd := j.source.AsCRD()
		of := schema.GroupKind{Group: crd.Group, Kind: crd.ObjectKind}
		for _, version := range crd.Versions {
			if _, known := m.kinds[of]; version.Storage && !known {
				name := j.source.Name
				m.kinds[of] = storage{name, version.Name, m.revision(name, revisionOf(j.source)), rejected[name]}
			}
		}
	}
	registered, err := m.v.storages(ctx)
	if err != nil {
		return err
	}
	for _, crd := range registered {
		if _, known := m.kinds[crd.GroupKind]; !known {
			m.kinds[crd.GroupKind] = storage{crd.name, crd.version, m.revision(crd.name, crd.revision), rejected[crd.name]}
		}
	}
	if m.CRD == "" {
		for _, s := range m.kinds {
			if s.err == nil {
				return nil
			}
		}
		if len(rejected) > 0 {
			return errRejected
		}
		return nil
	}
	for of, s := range m.kinds {
		if s.crd == m.CRD {
			m.kinds = map[schema.GroupKind]storage{of: s}
			return nil
		}
	}
	return fmt.Errorf("there is no CRD %s: add it to --crds, or correct --crd", m.CRD)
}

// revision returns the revision of a CRD together with its conversion rules in files.
func (m *migration) revision(name, crd string) string {
	if rules := m.v.rules[name]; rules != nil {
		return crd + " " + digest(rules)
	}
	return crd
}

// hasRevision reports whether a CRD has a revision.
func (m *migration) hasRevision(crd, revision string) bool {
	for _, s := range m.kinds {
		if s.crd == crd && s.revision == revision {
			return true
		}
	}
	return false
}

// revisionOf returns the digest of the parts of a CRD that affect conversion. Its status and metadata do not.
func revisionOf(crd *workspace.Manifest) string {
	var parts struct {
		APIVersion string          `json:"apiVersion"`
		Spec       json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(crd.JSON(), &parts); err != nil {
		return digest(crd)
	}
	return digestOf([]byte(parts.APIVersion+"\n"), parts.Spec)
}

// convert returns the objects at the storage versions, in their order.
func (m *migration) convert(ctx context.Context, objects []*workspace.Manifest) (all []*conversion, err error) {
	for len(objects) > 0 {
		to, known := m.kinds[kindOf(objects[0])]
		n := 1
		for n < len(objects) && kindOf(objects[n]) == kindOf(objects[0]) {
			n++
		}
		var results []*conversion
		if to.err != nil {
			for _, s := range objects[:n] {
				results = append(results, &conversion{Manifest: s, err: to.err})
			}
		} else if known || objects[0].Kind == "" {
			results, err = m.v.readAll(ctx, to.version, objects[:n])
		} else {
			results = m.unknown(objects[:n])
		}
		if err != nil {
			return nil, err
		}
		all, objects = append(all, results...), objects[n:]
	}
	return all, nil
}

func kindOf(s *workspace.Manifest) schema.GroupKind {
	return schema.GroupKind{Group: workspace.GroupOf(s.APIVersion), Kind: s.Kind}
}

// unknown returns errors for objects whose kind has no CRD.
func (m *migration) unknown(objects []*workspace.Manifest) (all []*conversion) {
	for _, s := range objects {
		r := &conversion{Manifest: s}
		r.skipped, r.err = noCRD(m.v.given, s.APIVersion, s.Kind)
		switch {
		case m.CRD != "":
			r.skipped, r.err = true, fmt.Errorf("it is not an object of %s", m.CRD)
		case r.skipped:
			r.err = fmt.Errorf("no CRD for %s (%s): add it to --crds", s.Kind, s.APIVersion)
		}
		all = append(all, r)
	}
	return all
}

// progress prints the progress.
func (m *migration) progress() {
	m.meter.Update(func() string {
		done := m.state.Count()
		text := fmt.Sprintf("%s, %d errors", counted(done, "object"), len(m.state.Failed))
		if m.all > 0 && m.all >= done {
			const width = 30
			filled := width * done / m.all
			text = fmt.Sprintf("[%s%s] %d of %d objects, %d errors", strings.Repeat("#", filled), strings.Repeat("-", width-filled),
				done, m.all, len(m.state.Failed))
		}
		return text
	})
}

// summarize prints the errors and the counts of the run, including those of the runs that it continues.
func (m *migration) summarize() {
	st := m.state
	var b strings.Builder
	for _, f := range st.Failed {
		fmt.Fprintf(&b, "%s: not migrated: %s\n", terminal.OneLine(f.Object), messageText(f.Error))
	}
	verb := "migrated"
	if m.inCluster() && !m.Write {
		verb = "would be written"
	}
	fmt.Fprintf(&b, "%s: %d %s", counted(st.Count(), "object"), st.Migrated, verb)
	for _, part := range []struct {
		n    int
		text string
	}{
		{st.Current, "already in the storage version"}, {st.Deleted, "deleted in the meantime"}, {st.Skipped, "skipped"},
		{len(st.Failed), "not migrated"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&b, ", %d %s", part.n, part.text)
		}
	}
	fmt.Fprintln(&b)
	_, _ = m.env.stderr.Write(printable([]byte(b.String())))
}
