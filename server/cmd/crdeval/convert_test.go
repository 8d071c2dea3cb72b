package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestConvertWithServer compares the output with --server to that without, for the same files.
func TestConvertWithServer(t *testing.T) {
	t.Chdir("testdata")
	socket := serving(t)
	for _, args := range []string{
		"--crds convert-crd.yaml --crds convert-rules.yaml convert-objects.yaml --to v1",
		"--crds convert-rules.yaml --crds convert-crd.yaml convert-objects.yaml --to v1beta1 -o json",
		"convert-none.yaml --to v2",
		"convert-none.yaml --to v3",
	} {
		t.Run(args, func(t *testing.T) {
			code, stdout, stderr := invoke(t, "", append([]string{"convert"}, strings.Fields(args)...)...)
			there, stdoutThere, stderrThere := invoke(t, "", append([]string{"convert", "--server", socket}, strings.Fields(args)...)...)
			if code != there || stdout != stdoutThere || withoutErrors(stderr) != withoutErrors(stderrThere) {
				t.Errorf("here %d\n%s%s\nthere %d\n%s%s", code, stdout, stderr, there, stdoutThere, stderrThere)
			}
		})
	}
}

// TestConvertStdin converts objects of stdin with the CRDs and rules of a directory.
func TestConvertStdin(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"convert-crd.yaml", "convert-rules.yaml"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0"+name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const first = `{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"a"},"spec":{"bulb":"x"}}`
	const second = `{"apiVersion":"example.com/v1beta1","kind":"Lamp","metadata":{"name":"b"}}`
	for _, tc := range []struct {
		name, stdin, stdout, stderr string
		code                        int
	}{
		{"two lines", first + "\n" + second,
			`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a"},"spec":{"light":{"bulb":"x"}}}` + "\n" +
				`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"b"}}` + "\n", "2 objects: 2 converted, 0 not converted\n", 0},
		{"empty", "", "", "0 objects: 0 converted, 0 not converted\n", 0},
		{"binary", "\x00\x01\xff\x1b[31m", "", "-:1: a document without a kind: error: ", exitError},
		{"broken", first + "\n{\"apiVersion\": [\n", "", "-:2: a document without a kind: error: ", exitError},
		{"a number", "7", "", "-:1: a document without a kind: error: ", exitError},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(t, tc.stdin, "convert", "--crds", dir, "-", "--to", "v1", "-o", "json")
			if code != tc.code || stdout != tc.stdout || !strings.HasPrefix(stderr, tc.stderr) || strings.ContainsAny(stderr, "\x00\x1b") {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
			}
		})
	}
}
