package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/gateway/codec"

	"github.com/crdeval/crdeval/engine/testenv/writecase"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
	"github.com/crdeval/crdeval/server/internal/testwrite"
)

// TestWrites runs the cases of package writecase through crdeval admit. Its files are manifests, whose metadata it
// completes, so it has the cases with complete objects only.
func TestWrites(t *testing.T) {
	crds := t.TempDir()
	for _, name := range writecase.CRDs(t) {
		writeFile(t, filepath.Join(crds, name), writecase.Manifest(name))
	}
	writecase.Run(t, 30, writecase.Surface{
		Name: "admit",
		Run: func(t *testing.T, c *writecase.Case) writecase.Result {
			t.Helper()
			args := admitArgs(t, c)
			if args == nil {
				return nil
			}
			_, stdout, stderr := invoke(t, "", append(args, "--crds", filepath.Join(crds, c.CRD), "-o", "json")...)
			line, _, _ := strings.Cut(stdout, "\n")
			var answer struct {
				Class   string
				Verdict json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &answer); err != nil || answer.Verdict == nil && answer.Class == "object" {
				t.Fatalf("%v: %s%s", err, stdout, stderr)
			}
			if answer.Class != "object" {
				return nil // it is of another kind
			}
			verdict := &crdevalv1.Verdict{}
			if err := codec.Unmarshal(answer.Verdict, verdict, nil); err != nil {
				t.Fatal(err)
			}
			return testwrite.Verdict(verdict, nil)
		},
		Reports: func(_ *writecase.Case, l writecase.Line) (writecase.Line, bool) {
			switch {
			case l.Is("status") || l.Key != l.Fact():
				return l, false
			case l.Is("pruned", "defaulted"): // JSON has no null for them, and escapes
				l.Text = strings.ReplaceAll(strings.TrimSuffix(l.Text, "null"), `\u003c`, "<")
			}
			return l.Sorted(), true
		},
	})
}

// admitArgs returns the arguments of crdeval admit, without those for CRDs, or nil if it has no such write.
func admitArgs(t *testing.T, c *writecase.Case) []string {
	t.Helper()
	operation, document := c.Operation()
	isPatch := c.MergePatch != nil || c.JSONPatch != nil
	if isPatch && c.Except["REST with YAML"] != "" {
		return nil // patches are read as YAML
	}
	if c.Call != "Admit" || c.File == "errors" || c.OldDecoded || c.Version+c.Namespace+c.ObjectName+c.GeneratedName != "" {
		return nil
	}
	for _, text := range []*string{c.Create, c.Update, c.Old} {
		var object struct {
			Kind     string
			Metadata struct{ Name, Namespace, ResourceVersion string }
		}
		if text == nil || text == c.Update && c.Subresource == "scale" {
			continue
		}
		if json.Unmarshal([]byte(*text), &object) != nil || object.Kind == "" || object.Metadata.Name == "" ||
			object.Metadata.Namespace == "" || text != c.Create && object.Metadata.ResourceVersion == "" {
			return nil // it would be completed, or is no manifest
		}
	}
	dir := t.TempDir()
	validation := strings.ToLower(c.FieldValidation)
	if validation == "" {
		validation = "warn"
	}
	args := []string{"admit", "--field-validation", validation}
	if c.Subresource != "" {
		args = append(args, "--subresource", c.Subresource)
	}
	object := filepath.Join(dir, "object.json")
	switch operation {
	case "mergePatch", "jsonPatch":
		patch := filepath.Join(dir, "patch.yaml")
		if !c.YAML {
			patch = filepath.Join(dir, "patch.json")
		}
		writeFile(t, patch, document)
		writeFile(t, object, *c.Old)
		return append(args, "--type", strings.TrimSuffix(strings.ToLower(operation), "patch"), "--patch-file", patch, object)
	case "update":
		old := filepath.Join(dir, "old.json")
		writeFile(t, old, *c.Old)
		args = append(args, "--old", old)
	}
	writeFile(t, object, document)
	return append(args, object)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
