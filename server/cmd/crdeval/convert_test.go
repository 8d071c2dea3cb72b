package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	crdeval "github.com/crdeval/crdeval/clients/go"
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
		"convert-warnings.yaml --to v1",
		"convert-warnings.yaml --to v1alpha1",
		"convert-nulls.yaml --to v2",
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

// TestConvertReasons checks that convert rejects an object with the fields and positions that admit reports.
func TestConvertReasons(t *testing.T) {
	t.Chdir("testdata")
	reasons := func(text string) (lines []string) {
		for line := range strings.Lines(text) {
			if strings.Contains(line, ": metadata.") {
				lines = append(lines, line)
			}
		}
		return lines
	}
	_, admitted, _ := invoke(t, "", "admit", "convert-nulls.yaml")
	_, _, converted := invoke(t, "", "convert", "convert-nulls.yaml", "--to", "v2")
	if a, c := reasons(admitted), reasons(converted); len(a) != 2 || !slices.Equal(a, c) {
		t.Errorf("admit reports %q, convert %q", a, c)
	}
}

// TestCheckWarnsOfConversion checks a CRD that the registered conversion rules do not fit.
func TestCheckWarnsOfConversion(t *testing.T) {
	t.Chdir("testdata")
	socket := serving(t)
	client, err := crdeval.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	crd, err := os.ReadFile("convert-crd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile("convert-rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.RegisterCRD(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetConversion(t.Context(), "lamps.example.com", rules, crdeval.ConversionOptions{}); err != nil {
		t.Fatal(err)
	}
	const warning = "warning: the registered conversion rules do not fit this CRD"
	for _, tc := range []struct {
		manifest string
		warns    bool
	}{
		{string(crd), false},
		{strings.Replace(string(crd), "note:", "extra: {type: string}\n              note:", 1), true},
	} {
		code, stdout, stderr := invoke(t, tc.manifest, "check", "--server", socket, "-")
		if code != 0 || strings.Contains(stdout, warning) != tc.warns || tc.warns && !strings.Contains(stdout, "spec.extra of v1beta1") {
			t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
		}
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
		{"empty", "", "", "0 objects: 0 converted, 0 not converted\n" +
			"crdeval: nothing was evaluated: the files have no object (--allow-empty: this is no error)\n", exitError},
		{"binary", "\x00\x01\xff\x1b[31m", "", "-:1:1: unreadable document: error: ", exitError},
		{"broken", first + "\n{\"apiVersion\": [\n",
			`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"a"},"spec":{"light":{"bulb":"x"}}}` + "\n", "-:2:17: unreadable document: error: ", exitError},
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

// TestConvertCheck prints what is known of rules, and finds a law that they break.
func TestConvertCheck(t *testing.T) {
	t.Chdir("testdata")
	code, stdout, stderr := invoke(t, "", "convert", "--check", "convert-rules.yaml", "--crds", "convert-crd.yaml", "-n", "20")
	for _, want := range []string{
		"convert-rules.yaml: lamps.example.com: conversion rules: accepted\n  between v1beta1 and v1:\n",
		"    LENS   fields that both versions have\n             spec.watts of v1beta1 is at most 500\n",
		"    LENS   rules[0] move: spec.bulb <-> spec.light.bulb\n             lost if empty in v1: spec.light\n",
		"  v1beta1 to v1: 3 fields: 2 carried, 0 read by expressions, 1 stashed, 0 dropped\n",
		"  law validity, v1 to v1beta1: holds for 20 objects\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output lacks %q", want)
		}
	}
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	// Two bulbs become one.
	const rules = "crd: lamps.example.com\nbetween: [v1beta1, v1]\n%s" +
		"rules:\n- cel: {to: spec.light.bulb, expr: \"self.spec.bulb.lowerAscii()\"}\n" +
		"  back: {spec.bulb: self.spec.light.bulb}\n- stash: {path: spec.note, maxBytes: 500}\n"
	check := func(extra string, args ...string) (int, string) {
		args = append([]string{"convert", "--check", "-", "--crds", "convert-crd.yaml", "-n", "100"}, args...)
		code, stdout, _ := invoke(t, strings.Replace(rules, "%s", extra, 1), args...)
		return code, stdout
	}
	code, stdout = check("")
	if code != exitRejected || !strings.Contains(stdout, "conversion rules: rejected\n") ||
		!strings.Contains(stdout, "v1beta1 to v1: broken: ") || !strings.Contains(stdout, "    back:\n      apiVersion: example.com/v1beta1\n") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if _, again := check(""); again != stdout {
		t.Errorf("the same seed gives\n%s\nand\n%s", stdout, again)
	}
	code, stdout = check("", "-o", "json")
	var r rulesReport
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, l := range r.Laws {
		found = found || l.Counterexample != nil && l.From == "v1beta1" && json.Valid(l.Counterexample.Object)
	}
	if code != exitRejected || r.Accepted || !found || len(r.Rules) != 3 || len(r.Coverage) != 2 {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}
