package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/cluster"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/resume"
)

// migrateCluster migrates the objects of a CRD in a cluster, or prints them at the storage version.
func (m *migration) migrateCluster(ctx context.Context, rules []*workspace.Manifest) error {
	cl, err := cluster.Open(ctx, m.Kubeconfig, m.Context, m.CRD, userAgent())
	if err != nil {
		return err
	}
	to, served := cl.CRD.StorageVersions()
	if served == "" {
		return fmt.Errorf("%s: no version of %s is served, so its objects cannot be read", cl.Host, m.CRD)
	}
	output := m.Out
	if m.Write {
		output = "the cluster"
	}
	st, err := resume.Load(m.State, resume.Subject{
		Source: cl.Host, CRD: m.CRD, UID: cl.CRD.Metadata.UID, Version: to, Output: output,
	})
	if err != nil {
		return err
	}
	if !m.Write {
		crd := workspace.Parse(workspace.Source{Name: "the CRD " + m.CRD + " of the cluster"}, cl.Text, 0).Manifests[0]
		rules = slices.DeleteFunc(rules, func(s *workspace.Manifest) bool { return s.CRD != m.CRD })
		closeService, err := m.connect(ctx, []*workspace.Manifest{crd}, rules)
		if err != nil {
			return err
		}
		defer closeService()
		if err := st.CheckRevisions(m.hasRevision); err != nil {
			return err
		}
	}
	m.state = st
	if err := m.readCluster(ctx, cl, served); err != nil {
		return errors.Join(err, m.state.Save())
	}
	stored := strings.Join(cl.CRD.Status.StoredVersions, ", ")
	switch {
	case !m.Write:
		fmt.Fprintf(m.env.stderr, "nothing was written: use --write to migrate; then status.storedVersions of %s, now %s, becomes %s\n",
			m.CRD, stored, to)
	case len(m.state.Failed) > 0:
		fmt.Fprintf(m.env.stderr, "status.storedVersions of %s stays %s, because not all objects are migrated\n", m.CRD, stored)
	default:
		if err := cl.TrimStoredVersions(ctx, m.state.Subject.UID, m.state.Subject.Version); err != nil {
			return err
		}
		fmt.Fprintf(m.env.stderr, "status.storedVersions of %s: %s\n", m.CRD, to)
	}
	m.state.Finished = true
	return m.state.Save()
}

// readCluster migrates page by page.
func (m *migration) readCluster(ctx context.Context, cl *cluster.Resource, version string) error {
	st := m.state
	for expired := 0; !st.Read; {
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		p, err := cl.List(ctx, version, st.Continue)
		switch {
		case ctx.Err() != nil:
			return input.ErrInterrupted
		case cluster.IsExpired(err) && expired < cluster.MaxAttempts:
			if expired++; !m.renew(err) {
				return fmt.Errorf("%s: %w; remove the file of --state to start again", cl.Host, err)
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: list the objects of %s: %w", cl.Host, m.CRD, err)
		}
		m.all = m.done() + len(p.Objects) + p.Remaining
		if err := m.migratePage(ctx, cl, version, p); err != nil {
			return err
		}
		st.Continue, st.Done, st.Read = p.Next, nil, p.Next == ""
		if err := st.Save(); err != nil {
			return err
		}
	}
	return nil
}

// done returns the number of objects of earlier pages.
func (m *migration) done() int { return m.state.Count() - len(m.state.Done) }

// renew sets the token of the page after a token expired. API servers send a token to continue the list with the
// current objects. Without such a token, the list starts again. Writing an object again changes nothing, but printing
// it does.
func (m *migration) renew(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Continue != "" {
		m.state.Continue = status.Status().Continue
		return true
	}
	if !m.Write && m.Out == "" && m.state.Count() > 0 {
		return false
	}
	m.state.Reset()
	return true
}

// migratePage writes or prints the objects of a page.
func (m *migration) migratePage(ctx context.Context, cl *cluster.Resource, version string, p *cluster.Page) error {
	if !m.Write {
		sources := make([]*workspace.Manifest, len(p.Objects))
		for i, o := range p.Objects {
			sources[i] = workspace.New(engine.JSON(o.Text))
			sources[i].File = cl.Host
		}
		defer m.progress()
		return m.convertAndWrite(ctx, sources)
	}
	done := map[string]bool{}
	for _, key := range m.state.Done {
		done[key] = true
	}
	for _, o := range p.Objects {
		if done[o.Key()] {
			continue
		}
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		switch deleted, err := cl.Write(ctx, version, o); {
		case err != nil && cluster.IsOutage(err):
			return fmt.Errorf("%s: write %s: %w", cl.Host, o.Key(), err)
		case err != nil:
			m.state.Fail(o.Kind+" "+o.Key(), err.Error())
		case deleted:
			m.state.Deleted++
		default:
			m.state.Migrated++
		}
		m.state.Done = append(m.state.Done, o.Key())
		m.progress()
	}
	return nil
}
