package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/output"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// readRepository reads the CRDs in the other files of the git repositories that contain the files of the run: kinds
// that the run has no CRD for can be defined there. With --base, they can have changed, too.
func (a *admission) readRepository(ctx context.Context, files input.Reader, read []*workspace.File) error {
	if !a.command.Repository || a.base == nil && !a.lacksCRD(ctx, read) {
		return nil
	}
	known := map[string]bool{}
	for _, f := range read {
		known[f.Path] = true
	}
	var others []*workspace.File
	for f := range files.Files(ctx, a.command.otherRoots()...) {
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		if a.base != nil {
			a.base.Note(f)
		}
		f.CRDs = slices.DeleteFunc(f.CRDs, func(c *workspace.CRD) bool {
			_, err := a.workspace.Candidates(ctx, c.Group+"/", c.ObjectKind, f.Path)
			return err == nil // another one applies
		})
		if !known[f.Path] && len(f.CRDs) > 0 {
			others = append(others, f)
		}
	}
	for _, f := range others {
		a.workspace.Set(f)
		if a.base != nil {
			a.base.AddChanged(f)
		}
		for _, m := range f.Manifests {
			applies := slices.ContainsFunc(f.CRDs, func(c *workspace.CRD) bool { return m.AsCRD() == c || m.CRD == c.Name })
			if applies && (m.Conversion || a.base != nil && a.base.IsChanged(f.Path)) {
				a.addCRD(m)
			}
		}
	}
	return nil
}

// lacksCRD reports whether files have an object of a custom resource without an accepted CRD.
func (a *admission) lacksCRD(ctx context.Context, read []*workspace.File) bool {
	return slices.ContainsFunc(read, func(f *workspace.File) bool {
		return slices.ContainsFunc(f.Manifests, func(m *workspace.Manifest) bool {
			if m.Err != nil || !m.IsTyped() || m.AsCRD() != nil {
				return false
			}
			_, err := a.workspace.Candidates(ctx, m.APIVersion, m.Kind, f.Path)
			var missing *workspace.WithoutCRDError
			return err != nil && (!errors.As(err, &missing) || !missing.BuiltIn)
		})
	})
}

// otherRoots returns the roots of the git repositories that contain the files, except those that are files themselves.
func (c *admitCommand) otherRoots() (roots []string) {
	known := map[string]bool{}
	for _, name := range c.Files {
		if absolute, err := filepath.Abs(name); err == nil {
			known[absolute] = true
		}
	}
	for _, name := range c.Files {
		absolute, err := filepath.Abs(name)
		if err != nil || name == "-" {
			continue
		}
		root := repository.RootOf(absolute)
		if _, err := os.Stat(filepath.Join(root, ".git")); err != nil || known[root] {
			continue
		}
		known[root] = true
		if working, err := os.Getwd(); err == nil {
			if relative, err := filepath.Rel(working, root); err == nil {
				root = relative
			}
		}
		roots = append(roots, root)
	}
	return roots
}

// reportDeleted prints a warning for each deleted file whose CRDs are in no other file.
func (a *admission) reportDeleted(env environment) error {
	if a.base == nil {
		return nil
	}
	for _, f := range a.base.Deleted() {
		exists := func(c *workspace.CRD) bool { return len(a.workspace.Named(c.Name, f.Path)) > 0 }
		gone := slices.DeleteFunc(slices.Clone(f.CRDs), exists)
		if len(gone) == 0 {
			continue
		}
		const text = "the file was deleted: the objects of its CRDs are not checked"
		name := strings.TrimPrefix(f.Path, a.base.Path("")+"/")
		p := output.New(env.stdout, a.command.Output, program("admit"))
		if p == nil || a.command.Output != "github" {
			fmt.Fprintf(env.stderr, "warning: %s: %s\n", terminal.OneLine(name), text)
			continue
		}
		problem := output.Problem{File: filepath.Join(a.base.Root, filepath.FromSlash(name)), Level: output.LevelWarning,
			Document: gone[0].Name, Kind: output.NotChecked, Text: text}
		if err := p.Add(&output.Result{Problems: []output.Problem{problem}}); err != nil {
			return err
		}
	}
	return nil
}
