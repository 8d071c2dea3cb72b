package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/suites/conversion"
)

// TestConversionGolden runs the reproducers of past differences of conversions. With -write it writes upstream's
// answers.
func TestConversionGolden(t *testing.T) {
	files, err := filepath.Glob("../testdata/golden/conversion/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g conversion.Golden
			if err := json.Unmarshal(text, &g); err != nil {
				t.Fatal(err)
			}
			answer, received, diffs, err := g.Run()
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range diffs {
				t.Error(d)
			}
			if *rewrite {
				writeGolden(t, file, g, answer, received)
				return
			}
			if !bytes.Equal(compacted(t, answer), compacted(t, g.Answer)) || !slices.Equal(received, g.Received) {
				t.Errorf("upstream answers %s\nwant %s\nreceived %q\nwant %q", answer, g.Answer, received, g.Received)
			}
		})
	}
}

func compacted(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func writeGolden(t *testing.T, file string, g conversion.Golden, answer []byte, received []string) {
	t.Helper()
	g.Answer, g.Received = answer, received
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(g); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
