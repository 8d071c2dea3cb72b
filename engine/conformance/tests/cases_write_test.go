package tests

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/internal/casefile"
)

var rewrite = flag.Bool("write", false, "write the answers of the rule cases anew, as the oracle gives them")

// TestMain writes the answers before the tests read them.
func TestMain(m *testing.M) {
	flag.Parse()
	if *rewrite {
		for _, file := range casefile.Written {
			if err := writeAnswers(folder, file); err != nil {
				panic(file + ": " + err.Error())
			}
		}
	}
	os.Exit(m.Run())
}

const folder = "../testdata/cases"

// writeAnswers writes the golden file beside a case file.
func writeAnswers(folder, file string) error {
	cases, err := casefile.Questions(folder, file)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	for i := range cases {
		c := &cases[i]
		registered, registration := register(c)
		if c.Register {
			if err := encoder.Encode(written(c.Name+" (register)", registration, true)); err != nil {
				return err
			}
		}
		if len(c.Objects) == 0 {
			continue
		}
		d, err := oracle.Compile(registered)
		if err != nil {
			return err
		}
		if c.Op == "openapi" {
			if err := encoder.Encode(publishedKind(c.Name, registered.V1)); err != nil {
				return err
			}
			continue
		}
		for _, object := range c.Objects {
			if err := encoder.Encode(written(c.Name, d.Answer(requestOf(c, object)), false)); err != nil {
				return err
			}
		}
	}
	return os.WriteFile(filepath.Join(folder, file+".golden.json"), out.Bytes(), 0o644)
}

// written converts an answer of the oracle to the format of the files.
func written(id string, a oracle.Answer, registration bool) casefile.Answer {
	w := casefile.Answer{ID: id, Error: a.DecodeError}
	if w.Error != "" {
		return w
	}
	if w.Object = a.Object; w.Object != nil && registration {
		w.Object = nil // the CRD as the server returns it
	}
	if w.Object != nil {
		var sorted any
		d := json.NewDecoder(bytes.NewReader(a.Object))
		d.UseNumber()
		if d.Decode(&sorted) == nil {
			w.Object, _ = json.Marshal(sorted)
		}
	}
	for _, s := range a.Strict {
		if name, ok := strings.CutPrefix(s, `unknown field "`); ok {
			w.PrunedPaths = append(w.PrunedPaths, strings.TrimSuffix(name, `"`))
		}
	}
	for _, text := range a.Warnings {
		if registration || !strings.HasPrefix(text, "unknown field ") {
			w.Warnings = append(w.Warnings, text)
		}
	}
	for _, f := range a.Errors {
		f.Message, f.Detail = timeless(f.Message), timeless(f.Detail)
		w.Errors = append(w.Errors, casefile.FieldError(f))
	}
	slices.SortStableFunc(w.Errors, func(a, b casefile.FieldError) int {
		return strings.Compare(a.Message+"\x00"+a.Type, b.Message+"\x00"+b.Type)
	})
	return w
}
