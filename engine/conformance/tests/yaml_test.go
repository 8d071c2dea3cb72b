package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/crdeval/crdeval/engine/conformance/corpus"
	"github.com/crdeval/crdeval/engine/internal/tree"
	"github.com/crdeval/crdeval/engine/testenv"
)

// TestYAMLOfCorpus compares the reader of YAML with the YAML library: the documents of the corpus' files, and mutants with
// one other byte. One document of ten is read, with a larger volume all of them.
func TestYAMLOfCorpus(t *testing.T) {
	volume := testenv.Volume(1)
	random := rand.New(rand.NewPCG(1, uint64(volume)))
	documents, mutants := 0, 0
	err := corpus.Texts(func(path string, text []byte) error {
		for d := range tree.SplitYAML(text) {
			if documents++; documents%max(1, 10/volume) != 0 {
				continue
			}
			compareYAML(t, path, d.Text)
			for range min(volume, 4) {
				mutants++
				compareYAML(t, "a mutant of "+path, mutant(random, d.Text))
			}
		}
		if t.Failed() {
			return errors.New("the reader differs from the library")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents, %d mutants", documents, mutants)
	if documents < 5000 {
		t.Error("the corpus has fewer documents than expected")
	}
}

// mutant returns up to 50 lines of a text with one other byte.
func mutant(random *rand.Rand, text []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	from := random.IntN(len(lines))
	text = bytes.Join(lines[from:min(from+50, len(lines))], nil)
	if len(text) == 0 {
		return text
	}
	const others = " \n:-#'\"[]{}|>,?&*!%@`\t\\0a.1e~y=<\r\x80_+"
	text[random.IntN(len(text))] = others[random.IntN(len(others))]
	return text
}

func compareYAML(t *testing.T, name string, text []byte) {
	t.Helper()
	got, _, err := tree.YAMLToJSON(text, tree.Limits{})
	if limit := (*tree.LimitError)(nil); errors.As(err, &limit) {
		return // the library has no limits
	}
	want, wantErr := yaml.YAMLToJSON(text)
	if syntax := (*tree.SyntaxError)(nil); wantErr == nil && errors.As(err, &syntax) && syntax.Cause == nil {
		return // a second document, which the library ignores
	}
	if (err != nil) != (wantErr != nil) {
		t.Errorf("%s: error %v, want %v\n%q", name, err, wantErr, text)
		return
	}
	if err == nil && !reflect.DeepEqual(jsonValue(t, got), jsonValue(t, want)) {
		t.Errorf("%s: %q: %s, want %s", name, text, got, want)
	}
}

// jsonValue returns a JSON value with its numbers as texts.
func jsonValue(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
