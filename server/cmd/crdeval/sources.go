package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/internal/value"
	"github.com/crdeval/crdeval/server/manifests"
)

// source is one manifest of a file.
type source struct {
	manifests.Manifest
	file     string
	document int  // from 1
	item     int  // of a document that is a list: from 1
	several  bool // the file has more than this one
}

// maxFileBytes bounds a file: what is in it is held in memory several times.
const maxFileBytes = 512 << 20

// readFile reads a file, - for stdin. A pipe that nobody writes to keeps it waiting, until the command is interrupted.
func readFile(name string, env environment) ([]byte, error) {
	type result struct {
		content []byte
		err     error
	}
	done := make(chan result, 1)
	go func() {
		content, err := readAll(name, env.stdin)
		done <- result{content, err}
	}()
	select {
	case r := <-done:
		return r.content, r.err
	case <-env.interrupted:
		return nil, errors.New("interrupted")
	}
}

func readAll(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			return nil, e.Err // who tells it tells the name, too
		}
		if err != nil {
			return nil, err
		}
		defer func() { _ = file.Close() }()
		from = file
	}
	content, err := io.ReadAll(io.LimitReader(from, maxFileBytes+1))
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		err = e.Err
	}
	if err == nil && len(content) > maxFileBytes {
		return nil, fmt.Errorf("it has more than %d MiB: give it in parts", maxFileBytes>>20)
	}
	return content, err
}

// filesOf are the manifest files of a directory, by name, as kubectl takes them: those of its subdirectories only if it is recursive. Anything else is
// itself.
func filesOf(name string, recursive bool) ([]string, error) {
	if recursive {
		return filesBelow(name)
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return []string{name}, nil //nolint:nilerr // no directory, or none that can be read: reading it as a file tells why
	}
	var files []string
	below := false
	for _, e := range entries {
		below = below || e.IsDir()
		if isManifest(e) {
			files = append(files, filepath.Join(name, e.Name()))
		}
	}
	switch {
	case files == nil && below:
		return nil, errors.New("the directory has no file with the ending .yaml, .yml or .json; -R takes those of its directories")
	case files == nil:
		return nil, errNoManifests
	}
	return files, nil
}

var errNoManifests = errors.New("the directory has no file with the ending .yaml, .yml or .json")

// isManifest says whether an entry of a directory is a file that kubectl would take.
func isManifest(e fs.DirEntry) bool {
	switch filepath.Ext(e.Name()) {
	case ".yaml", ".yml", ".json":
		return e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0
	}
	return false
}

// filesBelow are the manifest files of a directory and of those in it, but for hidden ones, such as .git: what a tool keeps there is no manifest.
func filesBelow(name string) (files []string, err error) {
	err = filepath.WalkDir(name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == name:
			files = []string{name} // reading it as a file tells why
			return nil
		case err != nil:
			return err
		case path == name && !e.IsDir():
			files = []string{name}
		case e.IsDir() && path != name && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case isManifest(e):
			files = append(files, path)
		}
		return nil
	})
	if err == nil && files == nil {
		err = errNoManifests
	}
	return files, err
}

// sourcesIn reads all manifests of a file, or of a directory's files.
func sourcesIn(name string, env environment) ([]source, error) {
	files, err := filesOf(name, env.recursive)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var all []source
	for _, file := range files {
		list, err := sourcesOf(file, env)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

// sourcesOf reads all manifests of a file.
func sourcesOf(name string, env environment) ([]source, error) {
	content, err := readFile(name, env)
	if err != nil {
		return nil, err
	}
	documents, err := manifests.Split(content)
	if err != nil {
		return nil, err
	}
	var all []source
	for i, d := range documents {
		for item, m := range d.Manifests() {
			all = append(all, source{Manifest: m, file: name, document: i + 1, item: item})
		}
	}
	for i := range all {
		all[i].several = len(all) > 1
	}
	return all, nil
}

// where names a manifest: its file, and its place in it if there are others.
func (s *source) where() string {
	where := s.file
	if s.several {
		where = fmt.Sprintf("%s[%d]", s.file, s.document)
	}
	if s.item > 0 {
		where += fmt.Sprintf(".items[%d]", s.item-1)
	}
	return where
}

// isCRD says whether the manifest claims to be a CRD; one that cannot be read is left to whoever reads it.
func (s *source) isCRD() (apiVersion, kind string, is bool) {
	apiVersion, kind, err := engine.TypeMetaOf(s.Document, engine.Limits{})
	return apiVersion, kind, err != nil || kind == "" || kind == manifests.CRDKind
}

// place is where in the file something is.
func (s *source) place(pointer string, told *engine.Position) *position {
	if told == nil {
		return nil
	}
	at := s.Place(pointer, *told)
	return &position{Line: at.Line, Column: at.Column, Offset: at.Offset}
}

// identity is what a manifest says of itself, as far as it does.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind string `json:"kind"`
		} `json:"names"`
	} `json:"spec"`
}

func (s *source) identity() (id identity) {
	text := s.Document.JSON
	if s.Document.YAML != nil {
		var err error
		if text, _, err = value.YAMLToJSON(s.Document.YAML, engine.Limits{}); err != nil {
			return identity{}
		}
	}
	if json.Unmarshal(text, &id) != nil {
		// Whatever has the wrong type, the names may be readable all the same: encoding/json goes on behind it.
		return id
	}
	return id
}
