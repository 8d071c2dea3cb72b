package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// file is a file of a repository, as kubectl reads it.
type file struct {
	name      string // relative to the repository
	manifests []*manifest
	err       error // why kubectl cannot read it, or the rest of it
}

// manifest is an object of a file, as JSON. Items of lists are manifests.
type manifest struct {
	key
	apiVersion string
	namespace  string
	json       []byte
}

// key identifies a manifest in the output of crdeval.
type key struct{ file, kind, name string }

func (m *manifest) group() string { return m.apiVersion[:max(0, strings.Index(m.apiVersion, "/"))] }

func (m *manifest) version() string { return m.apiVersion[strings.Index(m.apiVersion, "/")+1:] }

// readFiles reads the files of a repository that can contain manifests. Hidden files and folders are left out.
func readFiles(root string) (files []*file, _ error) {
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		hidden := strings.HasPrefix(e.Name(), ".")
		if e.IsDir() && hidden {
			return fs.SkipDir
		}
		if hidden || !e.Type().IsRegular() || !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		files = append(files, readFile(path, filepath.ToSlash(name)))
		return nil
	})
	return files, err
}

// readFile reads a file.
//
// Upstream: k8s.io/cli-runtime/pkg/resource, StreamVisitor.Visit.
func readFile(path, name string) *file {
	f := &file{name: name}
	content, err := os.ReadFile(path)
	if err != nil {
		f.err = err
		return f
	}
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		var raw runtime.RawExtension
		if err := d.Decode(&raw); errors.Is(err, io.EOF) {
			return f
		} else if err != nil {
			f.err = err
			return f
		}
		if text := bytes.TrimSpace(raw.Raw); len(text) > 0 && !bytes.Equal(text, []byte("null")) {
			f.add(text, "", "")
		}
	}
}

// add adds an object, or the items of a list. apiVersion and kind are those of items without them.
func (f *file) add(text []byte, apiVersion, kind string) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(text, &fields) != nil || fields == nil {
		return // not an object
	}
	for name, value := range map[string]string{"apiVersion": apiVersion, "kind": kind} {
		if fields[name] == nil && value != "" {
			fields[name] = fmt.Appendf(nil, "%q", value)
			text, _ = json.Marshal(fields)
		}
	}
	var head struct {
		APIVersion, Kind string
		Items            []json.RawMessage
		Metadata         struct{ Name, Namespace string }
	}
	_ = json.Unmarshal(text, &head) // fields of a wrong type stay empty
	if head.APIVersion == "" || head.Kind == "" {
		return
	}
	if of, isList := strings.CutSuffix(head.Kind, "List"); isList && head.Items != nil {
		if of == "" {
			head.APIVersion = ""
		}
		for _, item := range head.Items {
			f.add(item, head.APIVersion, of)
		}
		return
	}
	f.manifests = append(f.manifests, &manifest{
		key: key{f.name, head.Kind, head.Metadata.Name}, apiVersion: head.APIVersion, namespace: head.Metadata.Namespace,
		json: text,
	})
}
