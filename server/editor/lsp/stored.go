package lsp

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

// gitTimeout bounds the time in which git returns a file.
const gitTimeout = 5 * time.Second

// stored has the objects of a file in the commit HEAD. An object with the identity of one of them is its update.
type stored struct {
	objects map[identity]engine.Document
}

type identity struct{ group, kind, namespace, name string }

func identityOf(m *workspace.Manifest) identity {
	group, _, _ := strings.Cut(m.APIVersion, "/")
	return identity{group, m.Kind, m.Namespace, m.Name}
}

// object returns the stored object of a manifest, or an absent document.
func (s *stored) object(m *workspace.Manifest) engine.Document {
	if s == nil || m.Name == "" {
		return engine.Document{}
	}
	return s.objects[identityOf(m)]
}

// storedOf returns the stored objects of a file. They are read again after the file was opened or saved.
func (s *server) storedOf(ctx context.Context, f *file) *stored {
	if !s.readsGit || f.stored != nil {
		return f.stored
	}
	out := &stored{objects: map[identity]engine.Document{}}
	text, err := headOf(ctx, f.path)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		s.log.Printf("%s: %v", f.path, err)
	}
	for _, m := range workspace.Read(text) {
		if m.Err == nil {
			out.objects[identityOf(m)] = m.Document
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.open[f.uri]; of != nil && of.saves == f.saves {
		of.stored = out
	}
	f.stored = out
	return out
}

// headOf returns the content of a file in the commit HEAD of its repository. It is empty if HEAD does not have the
// file. git cat-file runs no filters and no hooks of the repository.
func headOf(ctx context.Context, path string) ([]byte, error) {
	if !filepath.IsAbs(path) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "git", "cat-file", "blob", "HEAD:./"+filepath.Base(path)) //nolint:gosec // no shell
	c.Dir, c.Env = filepath.Dir(path), append(os.Environ(), "GIT_NO_LAZY_FETCH=1")
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(out, maxFileBytes+1))
	if len(text) > maxFileBytes {
		cancel()
		err = fmt.Errorf("the file in HEAD has more than %d MiB: its objects are checked as creations", maxFileBytes>>20)
	}
	failed := c.Wait()
	switch {
	case err != nil:
		return nil, err
	case failed != nil && c.ProcessState.ExitCode() > 0: // no repository, no commit, or no such file
		return nil, nil
	case failed != nil:
		return nil, failed
	}
	return text, nil
}
