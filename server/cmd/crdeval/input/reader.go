// Package input reads the inputs of commands as sources of a workspace: files, the files of folders, stdin, URLs and
// clusters (reader.go), and files with one JSON object per line (lines.go).
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/cmd/crdeval/download"
	"github.com/crdeval/crdeval/server/cmd/crdeval/repository"
)

// Reader reads the inputs of a command.
type Reader struct {
	Stdin     io.Reader
	Opened    func(string)     // receives the names of files and folders that are read; nil: not needed
	Remote    *download.Reader // of URLs and clusters
	Recursive bool             // folders include their subfolders
	Filter    *workspace.Filter
}

// open reports that a file or a folder is read.
func (r Reader) open(name string) {
	if r.Opened != nil {
		r.Opened(name)
	}
}

// Files yields the files of names: files, the manifest files of folders, and stdin ("-"), in this order. It reads some
// files ahead.
func (r Reader) Files(ctx context.Context, names ...string) iter.Seq[*workspace.File] {
	return r.read(ctx, r.sources(names, false))
}

// Given is Files for names of CRDs, which can also be https:// URLs and clusters. The CRDs take precedence over others.
func (r Reader) Given(ctx context.Context, names ...string) iter.Seq[*workspace.File] {
	return r.read(ctx, r.sources(names, true))
}

func (r Reader) read(ctx context.Context, sources []workspace.Source) iter.Seq[*workspace.File] {
	for _, s := range sources {
		if s.Path != "" {
			r.Filter.Visit(s.Path)
		}
	}
	return InOrder(sources, func(s workspace.Source) *workspace.File { return r.load(ctx, s) })
}

// load reads a source. It does not wait for the parser of a large file if the context ends.
func (r Reader) load(ctx context.Context, s workspace.Source) *workspace.File {
	loaded := make(chan *workspace.File, 1)
	go func() { loaded <- workspace.Load(ctx, s, r.Filter) }()
	select {
	case f := <-loaded:
		f.Err = interrupted(ctx, f.Err)
		return f
	case <-ctx.Done():
		return &workspace.File{Source: s, Err: ErrInterrupted}
	}
}

// sources returns the sources of names.
func (r Reader) sources(names []string, given bool) (all []workspace.Source) {
	for _, name := range names {
		switch isURL := repository.IsURL(name); {
		case isURL && given:
			all = append(all, r.remote(name))
		case isURL:
			all = append(all, failed(name, "only CRDs can be read from a URL or a cluster: save the objects in a file"))
		case strings.HasPrefix(name, "http://"):
			all = append(all, failed(name, "http:// is not supported: use https://, or save the document in a file"))
		default:
			all = append(all, r.local(name)...)
		}
	}
	for i := range all {
		all[i].Given = given
	}
	return all
}

// failed returns a source that cannot be read.
func failed(name, why string) workspace.Source {
	return workspace.Source{Name: name, Read: func(context.Context) ([]byte, error) { return nil, errors.New(why) }}
}

// remote returns the source of a URL or a cluster.
func (r Reader) remote(name string) workspace.Source {
	return workspace.Source{Name: download.WithoutSecrets(name), Read: func(ctx context.Context) ([]byte, error) {
		return r.Remote.Read(name, ctx.Done())
	}}
}

// local returns the source of a file or of stdin, or those of a folder.
func (r Reader) local(name string) (all []workspace.Source) {
	info, err := os.Stat(name)
	switch {
	case name == "-" || err == nil && !info.IsDir() && !info.Mode().IsRegular():
		read := func(ctx context.Context) ([]byte, error) { return r.stream(ctx, name) }
		return []workspace.Source{{Name: name, Read: read}}
	case err != nil:
		return []workspace.Source{failed(name, cause(err).Error())}
	case !info.IsDir():
		r.open(name)
		file := workspace.FileSource(repository.FS(), name, repository.PathOf(name), 0)
		return []workspace.Source{file}
	}
	root := repository.PathOf(name)
	shown := func(file string) string {
		return filepath.Join(name, filepath.FromSlash(strings.TrimPrefix(file, root)))
	}
	enter := func(folder string) bool { r.open(shown(folder)); return true }
	all = slices.Collect(workspace.Walk(repository.FS(), root,
		workspace.WalkOptions{Recursive: r.Recursive, Name: shown, Enter: enter}))
	if len(all) > 0 {
		return all
	}
	err = ErrNoFile
	if !r.Recursive {
		err = fmt.Errorf("%w; use -R to include subdirectories", err)
	}
	return []workspace.Source{{Name: name, Read: func(context.Context) ([]byte, error) { return nil, err }}}
}

// ErrInterrupted is the error of reading an input after the context has ended.
var ErrInterrupted = errors.New("interrupted")

// interrupted returns ErrInterrupted for an error after the context has ended, and other errors as they are.
func interrupted(ctx context.Context, err error) error {
	if err != nil && errors.Is(err, ctx.Err()) {
		return ErrInterrupted
	}
	return err
}

// ErrNoFile is the error of a folder without a file that can have manifests.
var ErrNoFile = errors.New("the directory has no .yaml, .yml or .json file")

// cause returns the error of the operating system, without the name of the file.
func cause(err error) error {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err
}

// stream reads stdin ("-"), a pipe or a device. Opening and reading it end with the context.
func (r Reader) stream(ctx context.Context, name string) ([]byte, error) {
	from, end, err := r.openStream(ctx, name)
	if err != nil {
		return nil, err
	}
	defer end()
	text, err := workspace.ReaderSource(name, interruptible{ctx, from}).Read(ctx)
	return text, interrupted(ctx, err)
}

// openStream opens stdin ("-"), or another file. Opening a pipe ends with the context. The caller calls end.
func (r Reader) openStream(ctx context.Context, name string) (from io.Reader, end func(), err error) {
	if name == "-" {
		return r.Stdin, func() {}, nil
	}
	r.open(name)
	type result struct {
		file *os.File
		err  error
	}
	done := make(chan result, 1)
	go func() {
		file, err := os.Open(name)
		done <- result{file, err}
	}()
	select {
	case opened := <-done:
		if opened.err != nil {
			return nil, nil, cause(opened.err)
		}
		return opened.file, func() { _ = opened.file.Close() }, nil
	case <-ctx.Done():
		return nil, nil, ErrInterrupted
	}
}

// ReadFile returns the content of a file, or of stdin for "-".
func (r Reader) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return nil, errors.New("it is a directory, not a file")
	}
	return r.sources([]string{name}, false)[0].Read(ctx)
}

// Sources returns the sources of names, as Files reads them.
func (r Reader) Sources(names ...string) []workspace.Source { return r.sources(names, false) }

// InOrder yields the results of a function for the elements of a list, in their order. It runs a few calls at the same
// time.
func InOrder[T, R any](list []T, do func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		var running []chan R
		ahead := 2 * runtime.GOMAXPROCS(0)
		for next := 0; next < len(list) || len(running) > 0; {
			for ; next < len(list) && len(running) < ahead; next++ {
				result := make(chan R, 1)
				running = append(running, result)
				go func(each T) { result <- do(each) }(list[next])
			}
			if !yield(<-running[0]) {
				return
			}
			running = running[1:]
		}
	}
}

// Manifests returns all manifests of files. A file that cannot be read is an error.
func Manifests(files iter.Seq[*workspace.File]) (all []*workspace.Manifest, _ error) {
	for f := range files {
		if f.Err != nil {
			return nil, failure(f)
		}
		all = append(all, f.Manifests...)
	}
	return all, nil
}

// failure returns the error of a file with its name, unless the command was interrupted.
func failure(f *workspace.File) error {
	if errors.Is(f.Err, ErrInterrupted) {
		return f.Err
	}
	return fmt.Errorf("%s: %w", f.Name, f.Err)
}

// CRDs reads the CRDs of files, folders, URLs or clusters. It skips other kinds and conversion rules.
func (r Reader) CRDs(ctx context.Context, names ...string) (all []*workspace.Manifest, _ error) {
	for _, name := range names {
		list, rules, skipped, err := r.crds(ctx, name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 && (len(rules) > 0 || !skipped) {
			return nil, errNoCRDIn(name)
		}
		all = append(all, list...)
	}
	return all, nil
}

// CRDsAndRules reads the CRDs and the conversion rules of files, folders, URLs or clusters. It skips other kinds.
func (r Reader) CRDsAndRules(ctx context.Context, names ...string) (crds, rules []*workspace.Manifest, _ error) {
	for _, name := range names {
		c, o, skipped, err := r.crds(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		if len(c)+len(o) == 0 && !skipped {
			return nil, nil, errNoCRDIn(name)
		}
		crds, rules = append(crds, c...), append(rules, o...)
	}
	return crds, rules, nil
}

// crds reads the CRDs and the conversion rules of a name. skipped reports whether a file was skipped.
func (r Reader) crds(ctx context.Context, name string) (crds, rules []*workspace.Manifest, skipped bool, _ error) {
	var list []*workspace.Manifest
	for f := range r.Given(ctx, name) {
		if f.Err != nil {
			return nil, nil, false, failure(f)
		}
		list, skipped = append(list, f.Manifests...), skipped || f.Skip.Kind != ""
	}
	for _, m := range list {
		if m.Err != nil {
			text, line, _ := m.Describe(m.Err)
			return nil, nil, false, fmt.Errorf("%s:%d: %s", m.File, max(line, m.Line()), text)
		}
		switch {
		case m.Conversion:
			rules = append(rules, m)
		case m.IsCRD():
			crds = append(crds, m)
		}
	}
	return crds, rules, skipped, nil
}

func errNoCRDIn(name string) error {
	return fmt.Errorf("%s has no CustomResourceDefinition", download.WithoutSecrets(name))
}
