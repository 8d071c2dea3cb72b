package main

import (
	"bytes"
	"cmp"
	"encoding/json"
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

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/download"
	"github.com/crdeval/crdeval/server/manifests"
	"github.com/crdeval/crdeval/server/repository"
)

// location identifies a manifest of a file.
type location struct {
	File   string `json:"file"`
	Number int    `json:"document"`       // of the document, from 1; 0 for the whole file
	Item   int    `json:"item,omitempty"` // of a list, from 1; 0 for another document
}

// source is a manifest of a file.
type source struct {
	manifests.Manifest
	location
	several bool // the file has other manifests

	crd *crdFields
}

// crdFields are fields of a CRD. They are empty if they cannot be read, and for other kinds.
type crdFields struct {
	group, kind string
	versions    []crdVersion
	status      engine.Status
}

type crdVersion struct {
	name    string
	storage bool
}

var noCRDFields crdFields // of other kinds

// readCRD reads the fields of a CRD. Schemas are most of its text, so that is not decoded.
func readCRD(m *manifests.Manifest) *crdFields {
	f, d, l := &crdFields{}, value.Acquire(), value.Limits{MaxBytes: maxFileBytes}
	var root uint32
	var err error
	if m.Document.YAML != nil {
		root, err = d.ParseYAML(m.Document.YAML, value.Request, l)
	} else {
		root, err = d.ParseJSON(m.Document.JSON, l)
	}
	read := func(node uint32, into any) { _ = json.Unmarshal(d.Raw(node), into) } // invalid fields stay empty
	if err == nil {
		spec := d.Field(root, "spec")
		read(d.Field(spec, "group"), &f.group)
		read(d.Field(d.Field(spec, "names"), "kind"), &f.kind)
		read(d.Field(root, "status"), &f.status)
		versions := d.Field(spec, "versions")
		f.versions = make([]crdVersion, d.Len(versions))
		for i := range f.versions {
			version := d.Index(versions, i)
			read(d.Field(version, "name"), &f.versions[i].name)
			read(d.Field(version, "storage"), &f.versions[i].storage)
		}
	}
	d.Release()
	return f
}

// isCRD reports whether the manifest has the kind of a CRD.
func (s *source) isCRD() bool { return s.Kind == manifests.CRDKind }

// versions returns the names of the versions of a CRD.
func (s *source) versions() (names []string) {
	for _, v := range s.crd.versions {
		names = append(names, v.name)
	}
	return names
}

// groupOf returns the group of an apiVersion, "" for the core group.
func groupOf(apiVersion string) string { return apiVersion[:max(0, strings.Index(apiVersion, "/"))] }

// versionOf returns the version of an apiVersion.
func versionOf(apiVersion string) string { return apiVersion[strings.Index(apiVersion, "/")+1:] }

// established reports whether the manifest is a CRD with the condition Established, as a CRD of a cluster.
func (s *source) established() bool {
	return slices.ContainsFunc(s.crd.status.Conditions, func(c engine.Condition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// where identifies the manifest in messages.
func (s *source) where() string {
	where := s.File
	if s.several {
		where = fmt.Sprintf("%s[%d]", s.File, s.Number)
	}
	if s.location.Item > 0 {
		where += fmt.Sprintf(".items[%d]", s.location.Item-1)
	}
	return where
}

// title identifies the object in messages.
func (s *source) title() string { return titleOf(&s.Identity) }

func titleOf(id *engine.Identity) string {
	name := id.Name
	if prefix := id.GenerateName; name == "" && prefix != "" {
		name = prefix + "…" // a server generates the rest
	}
	if id.Namespace != "" {
		name = id.Namespace + "/" + name
	}
	return cmp.Or(strings.TrimSpace(id.Kind+" "+name), "a document without a kind")
}

// errorAt returns the position of an error in the file, or else identifies the manifest.
func (s *source) errorAt(line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", s.File, line)
	}
	return s.where()
}

// downloads reads CRDs from URLs and clusters.
var downloads = download.New(userAgent())

// reader reads the files of a command.
type reader struct {
	env       environment
	recursive bool // directories include their subdirectories
	filter    *repository.Filter
	urls      bool // names can also be https:// URLs and clusters
}

// each yields the manifests of files, of the files of directories, and of stdin ("-"), in this order. If a file
// has an error, it yields the error with a source that only has a File. It reads some files ahead.
func (r reader) each(names ...string) iter.Seq2[*source, error] {
	return func(yield func(*source, error) bool) {
		for of := range inOrder(r.expand(names), r.read) {
			if of.err != nil && !yield(&source{location: location{File: of.name}}, of.err) {
				return
			}
			if of.skip.Kind != "" {
				r.filter.Record(of.skip)
			}
			for _, s := range of.sources {
				if !yield(s, nil) {
					return
				}
			}
		}
	}
}

// fileContent is a file, and what is in it.
type fileContent struct {
	name    string
	sources []*source
	skip    repository.Skipped // if it is not a manifest
	err     error
}

// expand returns the names with those of directories replaced by their files.
func (r reader) expand(names []string) (all []fileContent) {
	for _, name := range names {
		files, err := r.files(name)
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
	for i, skip := range r.filter.Recognise(read) {
		all[i].skip = skip
	}
	return all
}

func (r reader) read(f fileContent) fileContent {
	if f.err != nil || f.skip.Kind != "" {
		return f
	}
	content, err := r.content(f.name)
	f.name = download.WithoutSecrets(f.name)
	if err != nil {
		f.err = err
		return f
	}
	f.sources = sourcesOf(f.name, manifests.Split(content))
	readable := func(s *source) bool { return s.Err == nil }
	if len(f.sources) > 0 && !slices.ContainsFunc(f.sources, readable) {
		text, _, _ := f.sources[0].Describe(f.sources[0].Err)
		if f.skip = r.filter.Template(f.name, content, errors.New(text)); f.skip.Kind != "" {
			f.sources = nil
		}
	}
	return f
}

// content returns the content of a file.
func (r reader) content(name string) ([]byte, error) {
	switch isURL := repository.IsURL(name); {
	case isURL && r.urls:
		return downloads.Read(name, r.env.interrupted)
	case isURL:
		return nil, errors.New("only CRDs can be read from a URL or a cluster: save the objects in a file")
	case strings.HasPrefix(name, "http://"):
		return nil, errors.New("http:// is not supported: use https://, or save the document in a file")
	}
	return readFile(name, r.env)
}

// inOrder yields the results of a function for the elements of a list, in their order. It calls the function for some
// elements at a time, in goroutines.
func inOrder[T, R any](list []T, do func(T) R) iter.Seq[R] {
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

// manifests returns all manifests of files and directories.
func (r reader) manifests(names ...string) (all []*source, _ error) {
	for s, err := range r.each(names...) {
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// crds reads the CRDs of files, directories, URLs or clusters. It skips other kinds and conversion rules.
func (r reader) crds(names ...string) (all []*source, _ error) {
	for _, name := range names {
		list, _, err := r.crdsAndRules(name)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 && !r.filter.Skips(name) {
			return nil, errNoCRDIn(name)
		}
		all = append(all, list...)
	}
	return all, nil
}

// crdsAndRules reads the CRDs and the conversion rules of files, directories, URLs or clusters. It skips other kinds.
func (r reader) crdsAndRules(names ...string) (crds, rules []*source, _ error) {
	r.urls = true
	for _, name := range names {
		list, err := r.manifests(name)
		if err != nil {
			return nil, nil, err
		}
		before := len(crds) + len(rules)
		for _, s := range list {
			if s.Err != nil && len(list) > 1 { // a single one is taken for a CRD: registering it reports what is wrong
				text, line, _ := s.Describe(s.Err)
				return nil, nil, fmt.Errorf("%s:%d: %s", s.File, max(line, s.Line()), text)
			}
			switch {
			case s.Conversion:
				rules = append(rules, s)
			case s.Kind == manifests.CRDKind || s.Kind == "" && len(list) == 1:
				crds = append(crds, s)
			}
		}
		if len(crds)+len(rules) == before && !r.filter.Skips(name) {
			return nil, nil, errNoCRDIn(name)
		}
	}
	return crds, rules, nil
}

func errNoCRDIn(name string) error {
	return fmt.Errorf("%s has no CustomResourceDefinition", download.WithoutSecrets(name))
}

// sourcesOf returns the manifests of the documents of a file.
func sourcesOf(name string, documents []manifests.Document) (all []*source) {
	for i, d := range documents {
		for _, m := range d.Manifests() {
			all = append(all, newSource(m, location{File: name, Number: i + 1, Item: m.Item}))
		}
	}
	for _, s := range all {
		s.several = len(all) > 1
	}
	return all
}

func newSource(m manifests.Manifest, at location) *source {
	s := &source{Manifest: m, location: at, crd: &noCRDFields}
	if s.isCRD() || s.Kind == "" && !s.Conversion {
		s.crd = readCRD(&m)
	}
	return s
}

// files returns the file itself, or the manifest files of a directory. Hidden files and directories are skipped.
func (r reader) files(name string) (files []string, err error) {
	if info, _ := os.Stat(name); name == "-" || info == nil || !info.IsDir() {
		return []string{name}, nil // reading it reports an error
	}
	err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == name:
			r.env.open(path)
		case e.IsDir() && (!r.recursive || e.Name()[0] == '.'):
			return fs.SkipDir
		case e.IsDir():
			r.env.open(path)
		case e.Type()&^fs.ModeSymlink == 0 && manifests.IsFileName(e.Name()):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && files == nil {
		err = errors.New("the directory has no .yaml, .yml or .json file")
		if !r.recursive {
			err = fmt.Errorf("%w; use -R to include subdirectories", err)
		}
	}
	return files, err
}

// maxFileBytes bounds a file.
const maxFileBytes = 512 << 20

// readFile reads a file, or stdin for "-". Opening and reading a pipe ends when the command is interrupted.
func readFile(name string, env environment) ([]byte, error) {
	env.open(name)
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
		content, err := readAll(name, env.stdin, 0)
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-env.interrupted:
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
	var b bytes.Buffer
	b.Grow(int(min(size, maxFileBytes)) + bytes.MinRead) // the buffer need not grow to detect EOF
	n, err := b.ReadFrom(io.LimitReader(from, maxFileBytes+1))
	if err == nil && n > maxFileBytes {
		return nil, fmt.Errorf("the file is larger than %d MiB: split it", maxFileBytes>>20)
	}
	return b.Bytes(), err
}

// isStdinTwice reports whether "-" is among the names more than once.
func isStdinTwice(lists ...[]string) bool {
	names := slices.Concat(lists...)
	return slices.Contains(names[slices.Index(names, "-")+1:], "-")
}

var errStdinTwice = errors.New("only one argument can be - (stdin)")
