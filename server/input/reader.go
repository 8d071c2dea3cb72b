package input

import (
	"bytes"
	"cmp"
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
	"github.com/crdeval/crdeval/server/download"
	"github.com/crdeval/crdeval/server/repository"
)

// maxFileBytes bounds a file.
const maxFileBytes = 512 << 20

// Reader reads the files of a command.
type Reader struct {
	Stdin       io.Reader
	Interrupted <-chan struct{}  // closed when the command is interrupted; nil: never
	Opened      func(string)     // receives the names of files and directories that are read; nil: not needed
	Remote      *download.Reader // of URLs and clusters
	Recursive   bool             // directories include their subdirectories
	Filter      *repository.Filter
	URLs        bool // names can also be https:// URLs and clusters
}

// Open reports that a file or a directory is read.
func (r Reader) Open(name string) {
	if r.Opened != nil {
		r.Opened(name)
	}
}

// Each yields the manifests of files, of the files of directories, and of stdin ("-"), in this order. If a file
// has an error, it yields the error with a source that only has a File. It reads some files ahead.
func (r Reader) Each(names ...string) iter.Seq2[*Source, error] {
	return func(yield func(*Source, error) bool) {
		for of := range InOrder(r.expand(names), r.read) {
			if of.err != nil && !yield(unreadable(of.name), of.err) {
				return
			}
			if of.skip.Kind != "" {
				r.Filter.Record(of.skip)
			}
			for _, s := range of.sources {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// unreadable returns the source for the error of a file. An empty name is quoted.
func unreadable(name string) *Source {
	return &Source{Manifest: new(workspace.Manifest), Location: Location{File: cmp.Or(name, `""`)}}
}

// fileContent is a file, and what is in it.
type fileContent struct {
	name    string
	sources []*Source
	skip    repository.Skipped // if it is not a manifest
	err     error
}

// expand replaces the names of directories by the names of their files.
func (r Reader) expand(names []string) (all []fileContent) {
	for _, name := range names {
		files, err := r.Files(name)
		if err != nil {
			all = append(all, fileContent{name: name, err: err})
		}
		for _, file := range files {
			all = append(all, fileContent{name: file})
		}
	}
	var read []string
	for i := range all {
		read = append(read, all[i].name)
	}
	for i, skip := range r.Filter.Recognise(read) {
		all[i].skip = skip
	}
	return all
}

func (r Reader) read(f fileContent) fileContent {
	if f.err != nil || f.skip.Kind != "" {
		return f
	}
	content, err := r.Content(f.name)
	f.name = download.WithoutSecrets(f.name)
	if err != nil {
		f.err = err
		return f
	}
	f.sources = SourcesOf(f.name, workspace.Read(content))
	readable := func(s *Source) bool { return s.Err == nil }
	if len(f.sources) > 0 && !slices.ContainsFunc(f.sources, readable) {
		text, _, _ := f.sources[0].Describe(f.sources[0].Err)
		if f.skip = r.Filter.Template(f.name, content, errors.New(text)); f.skip.Kind != "" {
			f.sources = nil
		}
	}
	return f
}

// Content returns the content of a file.
func (r Reader) Content(name string) ([]byte, error) {
	switch isURL := repository.IsURL(name); {
	case isURL && r.URLs:
		return r.Remote.Read(name, r.Interrupted)
	case isURL:
		return nil, errors.New("only CRDs can be read from a URL or a cluster: save the objects in a file")
	case strings.HasPrefix(name, "http://"):
		return nil, errors.New("http:// is not supported: use https://, or save the document in a file")
	}
	return r.ReadFile(name)
}

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

// Manifests returns all manifests of files and directories.
func (r Reader) Manifests(names ...string) (all []*Source, _ error) {
	for s, err := range r.Each(names...) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// CRDs reads the CRDs of files, directories, URLs or clusters. It skips other kinds and conversion rules.
func (r Reader) CRDs(names ...string) (all []*Source, _ error) {
	for _, name := range names {
		list, _, err := r.CRDsAndRules(name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 && !r.Filter.Skips(name) {
			return nil, errNoCRDIn(name)
		}
		all = append(all, list...)
	}
	return all, nil
}

// CRDsAndRules reads the CRDs and the conversion rules of files, directories, URLs or clusters. It skips other kinds.
func (r Reader) CRDsAndRules(names ...string) (crds, rules []*Source, _ error) {
	r.URLs = true
	for _, name := range names {
		list, err := r.Manifests(name)
		if err != nil {
			return nil, nil, err
		}
		before := len(crds) + len(rules)
		for _, s := range list {
			if s.Err != nil && len(list) > 1 { // for a single document, the registration reports the error
				text, line, _ := s.Describe(s.Err)
				return nil, nil, fmt.Errorf("%s:%d: %s", s.File, max(line, s.Line()), text)
			}
			switch {
			case s.Conversion:
				rules = append(rules, s)
			case s.Kind == workspace.CRDKind || s.Kind == "" && len(list) == 1:
				crds = append(crds, s)
			}
		}
		if len(crds)+len(rules) == before && !r.Filter.Skips(name) {
			return nil, nil, errNoCRDIn(name)
		}
	}
	return crds, rules, nil
}

func errNoCRDIn(name string) error {
	return fmt.Errorf("%s has no CustomResourceDefinition", download.WithoutSecrets(name))
}

// Files returns the file itself, or the manifest files of a directory. Hidden files and directories are skipped.
func (r Reader) Files(name string) (files []string, err error) {
	if name == "" {
		return nil, errors.New("the file name is empty")
	}
	if info, _ := os.Stat(name); name == "-" || info == nil || !info.IsDir() {
		return []string{name}, nil // reading it reports an error
	}
	root := repository.WalkRoot(name)
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == root:
			r.Open(path)
		case e.IsDir() && (!r.Recursive || e.Name()[0] == '.'):
			return fs.SkipDir
		case e.IsDir():
			r.Open(path)
		case workspace.IsFileName(e.Name()) && (e.Type() == 0 || e.Type() == fs.ModeSymlink && !repository.IsIrregular(path)):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && files == nil {
		err = errors.New("the directory has no .yaml, .yml or .json file")
		if !r.Recursive {
			err = fmt.Errorf("%w; use -R to include subdirectories", err)
		}
	}
	return files, err
}

// ReadFile reads a file, or stdin for "-". Opening and reading a pipe ends when the command is interrupted.
func (r Reader) ReadFile(name string) ([]byte, error) {
	r.Open(name)
	info, err := os.Stat(name)
	if name != "-" && err == nil && info.Mode().IsRegular() {
		return readAll(name, nil, info.Size())
	}
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		content, err := readAll(name, r.Stdin, 0)
		done <- result{content, err}
	}()
	select {
	case read := <-done:
		return read.content, read.err
	case <-r.Interrupted:
		return nil, errors.New("interrupted")
	}
}

// readAll reads a file, or stdin for "-". size is the size of the file, if it is known.
func readAll(name string, stdin io.Reader, size int64) (content []byte, err error) {
	defer func() {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			err = e.Err // the caller adds the name
		}
	}()
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	// The buffer need not grow to detect EOF. Its Grow would write zeros first.
	b := bytes.NewBuffer(make([]byte, 0, min(size, maxFileBytes)+bytes.MinRead))
	n, err := b.ReadFrom(io.LimitReader(from, maxFileBytes+1))
	if err == nil && n > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d MiB: split it", maxFileBytes>>20)
	}
	return b.Bytes(), err
}
