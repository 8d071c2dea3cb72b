package crdeval_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// spelled formats results as text.
func spelled(all []crdeval.Registered) string {
	var b strings.Builder
	for _, r := range all {
		var rejected *crdeval.RejectedError
		var rules *crdeval.RejectedConversionError
		what := strings.TrimPrefix(max(r.Response.GetOutcome(), r.Conversion.GetOutcome()).String(), "REGISTRATION_OUTCOME_")
		switch {
		case errors.As(r.Err, &rules):
			what = "rejected for " + rules.Report.GetViolations()[0].GetField()
		case errors.As(r.Err, &rejected):
			what = "rejected for " + rejected.Report.GetViolations()[0].GetField()
		case r.Err != nil:
			what = status.Code(r.Err).String()
		}
		fmt.Fprintf(&b, "%s %s %s\n", filepath.Base(r.Source), r.Name, what)
	}
	return b.String()
}

// TestRegisterAll checks that results are in order, that a failure affects one CRD only, and that the next call sees
// the registrations.
func TestRegisterAll(t *testing.T) {
	c, sent := dial(t, serve(t))
	all, err := c.RegisterAll(t.Context(), named("a", ""), []byte(strings.Replace(string(named("b", "")), "Namespaced", "Everywhere", 1)), []byte("kind: Pod"), named("a", ""), named("a", "new"), manifest(3))
	if err != nil {
		t.Fatal(err)
	}
	want := `. a.example.com CREATED
. b.example.com rejected for spec.scope
.  InvalidArgument
. a.example.com UNCHANGED
. a.example.com UPDATED
. crontabs.stable.example.com CREATED
`
	if got := spelled(all); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	sent.take()
	if results, err := c.Validate(t.Context(), object(3)); err != nil || !results[0].Allowed() {
		t.Errorf("%v, %v", results, err)
	}
	if got := sent.take(); len(got) != 1 || got[0] != "Validate 1 "+all[5].Response.GetToken() {
		t.Errorf("sent %v, the token is %s", got, all[5].Response.GetToken())
	}
	if all, err := c.RegisterAll(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("nothing: %v, %v", all, err)
	}
	nowhere, _ := dial(t, serve(t), crdeval.WithCatalog("none"))
	if all, err := nowhere.RegisterAll(t.Context(), named("a", "")); status.Code(err) != codes.NotFound || len(all) != 0 {
		t.Errorf("no such catalog: %v, %v", all, err)
	}
}

// TestRegisterAllInParts checks that many CRDs are sent in several calls.
func TestRegisterAllInParts(t *testing.T) {
	c, sent := dial(t, serve(t, "--max-message-bytes=64KiB", "--max-document-bytes=32KiB"))
	var manifests [][]byte
	for i := range 120 {
		manifests = append(manifests, named(fmt.Sprintf("c%d", i), strings.Repeat("x", 100*(i%2)*10)))
	}
	all, err := c.RegisterAll(t.Context(), manifests...)
	if err != nil || len(all) != len(manifests) {
		t.Fatalf("%d results, %v", len(all), err)
	}
	for i, r := range all {
		if r.Err != nil || r.Name != fmt.Sprintf("c%d.example.com", i) {
			t.Fatalf("%d: %s %v", i, r.Name, r.Err)
		}
	}
	calls := 0
	for _, line := range sent.take() {
		if strings.HasPrefix(line, "RegisterCrds") {
			calls++
		}
	}
	if calls < 3 {
		t.Errorf("%d calls", calls)
	}
}

// TestRegisterDir checks that a directory is read as by kubectl.
func TestRegisterDir(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	yamlOf := func(maximum int) string { return string(manifest(maximum)) }
	write("1-several.yaml", "# two\n---\n"+yamlOf(1)+"---\n# nothing\n--- # a comment\nkind: Deployment\napiVersion: apps/v1\n---\n"+yamlOf(2))
	write("2-list.yml", "apiVersion: v1\nkind: List\nitems:\n- {kind: Pod, apiVersion: v1}\n- "+string(named("a", ""))+"\n- "+string(named("b", ""))+"\n")
	write("3-one.json", string(named("c", "")))
	write("4-broken.yaml", "a: [\n")
	write("5-rejected.json", strings.Replace(string(named("d", "")), "Namespaced", "Everywhere", 1))
	write("6-other.yaml", "kind: ConfigMap\napiVersion: v1\ndata:\n  x: |\n    kind: CustomResourceDefinition\n")
	write("7-notes.txt", string(named("e", "")))
	write("below/f.json", string(named("f", "")))
	write("8.yaml/g.json", string(named("g", "")))
	write("9-comments.yaml", "# nothing\n---\n")
	c, _ := dial(t, serve(t))
	all, err := c.RegisterDir(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := `1-several.yaml#1 crontabs.stable.example.com CREATED
1-several.yaml#2 crontabs.stable.example.com UPDATED
2-list.yml#1 a.example.com CREATED
2-list.yml#2 b.example.com CREATED
3-one.json c.example.com CREATED
4-broken.yaml  InvalidArgument
5-rejected.json d.example.com rejected for spec.scope
`
	if got := spelled(all); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if _, err := c.RegisterDir(t.Context(), filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such directory: %v", err)
	}
}

// TestRegisterDirWithRules registers the directory of the README's sample, and directories with errors.
func TestRegisterDirWithRules(t *testing.T) {
	c, _ := dial(t, serve(t))
	const sample = "../../deploy/samples/conversion"
	all, err := c.RegisterDir(t.Context(), sample)
	want := "crontabs.yaml crontabs.example.com CREATED\nrules.yaml crontabs.example.com UPDATED\n"
	if got := spelled(all); err != nil || got != want {
		t.Fatalf("%v, got\n%swant\n%s", err, got, want)
	}
	converted, err := c.Convert(t.Context(), "v1", []byte(`{"apiVersion":"example.com/v1beta1","kind":"CronTab","metadata":{"name":"a","namespace":"b"},"hostPort":"h:1"}`))
	if err != nil || converted[0].Err != nil || !strings.Contains(string(converted[0].GetObject().GetJson()), `"host":"h"`) {
		t.Errorf("%v, %v", converted, err)
	}

	dir := t.TempDir()
	rules, err := os.ReadFile(filepath.Join(sample, "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(rules), "crontabs.example.com", "others.example.com", 1)
	text := other + "---\n" + string(rules) + "- drop: {path: none}\n---\ncrd: 1\n---\ncrd: x\nkind: Other\n---\n" + string(named("a", ""))
	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err = c.RegisterDir(t.Context(), dir)
	want = "all.yaml#4 a.example.com CREATED\nall.yaml#1 others.example.com NotFound\n" +
		"all.yaml#2 crontabs.example.com rejected for rules[2]\nall.yaml#3  InvalidArgument\n"
	if got := spelled(all); err != nil || got != want {
		t.Errorf("%v, got\n%swant\n%s", err, got, want)
	}

	if err := os.WriteFile(filepath.Join(dir, "all.yaml"), rules, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if all, err := c.RegisterDir(ctx, dir); status.Code(err) != codes.Canceled || len(all) != 0 {
		t.Errorf("cancelled: %v, %v", all, err)
	}
}

// TestSetStoredVersions checks that a version can be dropped after it is no longer a stored version.
func TestSetStoredVersions(t *testing.T) {
	c, _ := dial(t, serve(t))
	versions := func(stored string, names ...string) []byte {
		text := strings.Split(string(manifest(1)), "  versions:\n")[0] + "  versions:\n"
		for _, name := range names {
			text += fmt.Sprintf("  - {name: %s, served: true, storage: %v, schema: {openAPIV3Schema: {type: object}}}\n", name, name == stored)
		}
		return []byte(text)
	}
	const name = "crontabs.stable.example.com"
	registerAll(t, c, versions("v1", "v1"), versions("v2", "v1", "v2"))
	if _, err := c.RegisterCRD(t.Context(), versions("v2", "v2")); !errors.As(err, new(*crdeval.RejectedError)) {
		t.Errorf("a stored version goes: %v", err)
	}
	if _, err := c.SetStoredVersions(t.Context(), "no.such", "v1"); status.Code(err) != codes.NotFound {
		t.Errorf("no such CRD: %v", err)
	}
	crd, err := c.SetStoredVersions(t.Context(), name, "v2")
	if err != nil || !slices.Equal(crd.GetStatus().GetStoredVersions(), []string{"v2"}) {
		t.Errorf("%v, %v", crd, err)
	}
	if _, err := c.RegisterCRD(t.Context(), versions("v2", "v2")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestDiff compares a new CRD with the registered one, and with another manifest.
func TestDiff(t *testing.T) {
	c, _ := dial(t, serve(t))
	registerAll(t, c, manifest(5))
	for name, call := range map[string]func() (*crdevalv1.DiffCrdResponse, error){
		"registered": func() (*crdevalv1.DiffCrdResponse, error) {
			return c.Diff(t.Context(), manifest(2), object(2), object(3), object(9))
		},
		"manifests": func() (*crdevalv1.DiffCrdResponse, error) {
			return c.DiffManifests(t.Context(), manifest(5), manifest(2), object(2), object(3), object(9))
		},
	} {
		d, err := call()
		if err != nil || d.GetChangeClass() != crdevalv1.ChangeClass_CHANGE_CLASS_BREAKING || len(d.GetChanges()) != 1 || len(d.GetReplayResults()) != 3 {
			t.Fatalf("%s: %v, %v", name, d, err)
		}
		for i, want := range []crdevalv1.ReplayOutcome{
			crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME, crdevalv1.ReplayOutcome_REPLAY_OUTCOME_NEWLY_REJECTED, crdevalv1.ReplayOutcome_REPLAY_OUTCOME_SAME,
		} {
			if o := d.GetReplayResults()[i].GetOutcomes(); len(o) == 0 || o[0] != want {
				t.Errorf("%s, object %d: %v", name, i, o)
			}
		}
	}
	if _, err := c.Diff(t.Context(), named("a", "")); status.Code(err) != codes.NotFound {
		t.Errorf("not registered: %v", err)
	}
}

// TestWith checks that inline CRDs only apply to the calls of that client.
func TestWith(t *testing.T) {
	c, sent := dial(t, serve(t))
	registerAll(t, c, manifest(5))
	with := c.With(manifest(2)).With(named("a", ""))
	if results, err := with.Validate(t.Context(), object(3), []byte(`{"apiVersion":"example.com/v1","kind":"A","metadata":{"name":"x","namespace":"y"}}`)); err != nil || results[0].Allowed() || !results[1].Allowed() {
		t.Errorf("%v, %v", results, err)
	}
	if results, err := c.Validate(t.Context(), object(3)); err != nil || !results[0].Allowed() {
		t.Errorf("without: %v, %v", results, err)
	}
	if pruned, err := with.Prune(t.Context(), object(3)); err != nil || pruned[0].Err != nil {
		t.Errorf("%v, %v", pruned, err)
	}
	if got := sent.take(); len(got) == 0 || !strings.HasPrefix(got[len(got)-1], "Prune") {
		t.Errorf("sent %v", got)
	}
	_, err := c.With([]byte(strings.Replace(string(named("a", "")), "Namespaced", "Everywhere", 1))).Validate(t.Context(), object(3))
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "spec.scope") {
		t.Errorf("a rejected one: %v", err)
	}
}
