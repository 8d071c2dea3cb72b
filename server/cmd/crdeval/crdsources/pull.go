package crdsources

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/atomicfile"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/input"
	"github.com/crdeval/crdeval/server/cmd/crdeval/terminal"
)

// List prints the state of each file. complete reports whether all files exist and have their digests.
func (s *Sources) List(w io.Writer) (complete bool, _ error) {
	complete = true
	for _, u := range s.list {
		state, err := u.state()
		complete = complete && err == nil
		line := fmt.Sprintf("%-10s %s %s", state, u.file, download.WithoutSecrets(u.url))
		if _, err := fmt.Fprintln(w, terminal.OneLine(line)); err != nil {
			return false, err
		}
	}
	return complete, nil
}

// Pull fetches the files that are not up to date, and adds missing digests to the configuration file. It prints what it
// did. An error about a URL does not prevent the others.
func (s *Sources) Pull(ctx context.Context, w io.Writer, reader *download.Reader) error {
	if err := s.makeFolder(filepath.Dir(s.config)); err != nil {
		return err
	}
	digests, failed := map[*source]string{}, []error(nil)
	for _, u := range s.list {
		name := terminal.OneLine(download.WithoutSecrets(u.url))
		if _, err := u.state(); err == nil {
			fmt.Fprintf(w, "%s: unchanged\n", name)
			continue
		}
		sum, err := u.fetch(ctx, reader)
		if ctx.Err() != nil {
			return input.ErrInterrupted
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s:%d: %s: %w", s.config, u.line, name, err))
			continue
		}
		if u.sha256 == "" {
			digests[u] = sum
		}
		fmt.Fprintf(w, "%s: wrote %s\n", name, terminal.OneLine(u.file))
	}
	if len(digests) > 0 {
		failed = append(failed, s.writeDigests(digests))
	}
	return errors.Join(failed...)
}

// makeFolder makes the folder of the fetched files. It must not be outside of dir, also not by a symbolic link.
func (s *Sources) makeFolder(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	folder, err := filepath.Rel(dir, s.folder)
	if err == nil {
		err = root.MkdirAll(folder, 0o755)
	}
	if err == nil {
		_, err = root.Stat(folder)
	}
	if err != nil {
		return fmt.Errorf("%s: folder: %w", Key, err)
	}
	return nil
}

// fetch fetches the file of a URL, and returns its digest.
func (u *source) fetch(ctx context.Context, reader *download.Reader) (string, error) {
	content, err := reader.Fetch(ctx, u.url)
	if err != nil {
		return "", err
	}
	sum := sha256Of(content)
	if u.sha256 != "" && sum != u.sha256 {
		return "", fmt.Errorf("the content has the SHA-256 %s, and the file lists %s: "+
			"if you trust the new content, remove sha256, and run %s again", sum, u.sha256, PullCommand)
	}
	if f := workspace.Parse(workspace.Source{Name: u.url}, content, 0); len(f.CRDs) == 0 {
		return "", errors.New("the content has no CustomResourceDefinition")
	}
	return sum, replaceFile(u.file, content)
}

// replaceFile replaces a file atomically. It keeps the permissions of the file.
func replaceFile(name string, content []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	if err := atomicfile.Write(name, content); err != nil {
		return err
	}
	return os.Chmod(name, mode)
}
