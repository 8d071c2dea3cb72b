package main

import (
	"os"
	"strings"
	"testing"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// TestDiffWithServer compares the output with --server to that for two files. Only positions of removed parts differ.
func TestDiffWithServer(t *testing.T) {
	socket := serving(t)
	client, err := crdeval.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	t.Chdir("testdata")
	old, err := os.ReadFile("old.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var revisions []string
	for _, manifest := range strings.Split(string(old), "---\n") {
		if !strings.Contains(manifest, "kind: ConfigMap") {
			r, err := client.RegisterCRD(t.Context(), []byte(manifest))
			if err != nil {
				t.Fatal(err)
			}
			revisions = append(revisions, r.GetCrd().GetRevision())
		}
	}
	_, files, _ := invoke(t, "", "diff", "old.yaml", "boats.yaml", "--partial", "--objects", "objects.yaml")
	code, registered, stderr := invoke(t, "", "diff", "--server", socket, "boats.yaml", "--objects", "objects.yaml")
	if want := files; code != exitRejected || withoutPositions(registered) != withoutPositions(want) || !strings.Contains(registered, "boats.yaml:27:60: breaking for writers: v1 spec.length maximum") {
		t.Errorf("%d %s\nregistered\n%s\nfiles\n%s", code, stderr, registered, want)
	}
	if code, out, stderr := invoke(t, "", "diff", "--server", socket, "buoys.yaml", "--revision", revisions[1], "-o", "json"); code != 0 || !strings.Contains(out, `"old":"`+revisions[1]+`"`) || !strings.Contains(out, `"identical":true`) {
		t.Errorf("%d %s %s", code, out, stderr)
	}
	if code, out, stderr := invoke(t, "", "diff", "--server", socket, "buoys.yaml", "--catalog", "none"); code != exitError || !strings.Contains(stderr, "none") {
		t.Errorf("%d %s %s", code, out, stderr)
	}
	if code, _, stderr := invoke(t, "", "diff", "--server", "unix:///does/not/exist", "buoys.yaml"); code != exitError || !strings.Contains(stderr, "/does/not/exist") {
		t.Errorf("%d %s", code, stderr)
	}
}

// withoutPositions removes the positions of lines.
func withoutPositions(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		position, rest, found := strings.Cut(line, ": ")
		if found && strings.HasPrefix(line, "  ") && strings.Contains(position, ".yaml:") {
			line = rest
		}
		b.WriteString(line)
	}
	return b.String()
}
