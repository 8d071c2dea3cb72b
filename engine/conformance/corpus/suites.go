package corpus

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// readSuites reads a module's suite files. It adds what needs neither rules nor updates: objects, as samples without a
// promise, and cases of the JSON Schema suite.
func (c *Corpus) readSuites(m module, dir string, x *index) error {
	for _, suite := range m.suites {
		format, _, _ := strings.Cut(suite, ":")
		files, err := find(dir, []string{suite})
		if err != nil {
			return err
		}
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(dir, f.path))
			if err != nil {
				return err
			}
			if format != "cel" {
				c.Suites = append(c.Suites, SuiteFile{Module: m.path, Path: f.path, Format: format, Data: data})
			}
			switch format {
			case "openshift":
				c.readOpenShift(x, m.path, f.path, data)
			case "goyaml":
				c.readGoYAML(x, m.path, f.path, data)
			case "status":
				for _, doc := range split(data) {
					c.addSample(x, m.path, f.path, "", doc)
				}
			case "jsonschema":
				c.readJSONSchema(f.path, data)
			}
		}
	}
	return nil
}

func (c *Corpus) readOpenShift(x *index, modulePath, path string, data []byte) {
	var suite struct {
		Tests struct {
			OnCreate, OnUpdate []struct{ Initial, Updated string }
		}
	}
	if yaml.Unmarshal(data, &suite) != nil {
		return
	}
	for _, tests := range [][]struct{ Initial, Updated string }{suite.Tests.OnCreate, suite.Tests.OnUpdate} {
		for _, t := range tests {
			for _, text := range []string{t.Initial, t.Updated} {
				for _, doc := range split([]byte(text)) {
					c.addSample(x, modulePath, path, "", doc)
				}
			}
		}
	}
}

// readGoYAML returns every raw string of a Go file that is a manifest.
func (c *Corpus) readGoYAML(x *index, modulePath, path string, data []byte) {
	file, err := parser.ParseFile(token.NewFileSet(), path, data, 0)
	if err != nil {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING || !strings.Contains(lit.Value, "apiVersion") {
			return true
		}
		if text, err := strconv.Unquote(lit.Value); err == nil {
			for _, doc := range split([]byte(text)) {
				c.addSample(x, modulePath, path, "", doc)
			}
		}
		return true
	})
}

func (c *Corpus) readJSONSchema(path string, data []byte) {
	var groups []struct {
		Description string
		Schema      json.RawMessage
		Tests       []struct {
			Description string
			Data        json.RawMessage
		}
	}
	if json.Unmarshal(data, &groups) != nil {
		return
	}
	for _, g := range groups {
		for _, t := range g.Tests {
			c.Schemas = append(c.Schemas, SchemaCase{Path: path, Name: g.Description + ": " + t.Description, Schema: g.Schema, Data: t.Data})
		}
	}
}
