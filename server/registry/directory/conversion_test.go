package directory

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/registry"
)

const hostsName = "hosts.directory.example.com"

// hostCRD returns a CRD whose versions name a host differently. extra are further properties of the spec of v1.
func hostCRD(extra string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.directory.example.com}
spec:
  group: directory.example.com
  scope: Namespaced
  names: {plural: hosts, kind: Host}
  conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/'}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {endpoint: {type: object, properties: {host: {type: string}}}` + extra + `}}}
  - name: v1beta1
    served: true
    storage: false
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {host: {type: string}}}}
`
}

// hostRules returns conversion rules for hostCRD, with further rules, one per line from line 5 on.
func hostRules(more ...string) string {
	text := "crd: " + hostsName + "\nbetween: [v1beta1, v1]\nrules:\n- move: {from: spec.host, to: spec.endpoint.host}\n"
	for _, rule := range more {
		text += "- " + rule + "\n"
	}
	return text
}

// rules returns the kinds of the rules of the CRD in the registry: "move drop". "none" means that it has no rules, and
// "no CRD" that it is not registered.
func (w *watched) rules() string {
	w.t.Helper()
	d, err := w.backend.CRD(context.Background(), "default", hostsName, "", "")
	switch {
	case err != nil:
		return "no CRD"
	case d.Conversion == nil:
		return "none"
	}
	var kinds []string
	for _, kind := range []string{"move", "drop", "stash"} {
		if strings.Contains(string(d.Conversion), `"`+kind+`"`) {
			kinds = append(kinds, kind)
		}
	}
	return strings.Join(kinds, " ")
}

func (w *watched) eventuallyRules(want string) {
	w.t.Helper()
	w.until(func() bool { return w.rules() == want }, func() string { return fmt.Sprintf("rules %q, want %q", w.rules(), want) })
}

// settled waits until a file that is put now was read.
func (w *watched) settled(dir string) {
	w.t.Helper()
	before := w.names()
	put(w.t, filepath.Join(dir, "settled.yaml"), crd("settled", "1"))
	w.until(func() bool { return w.names() != before }, func() string { return "the directory is not read" })
	remove(w.t, filepath.Join(dir, "settled.yaml"))
	w.eventually(before)
}

// Rules are set after their CRD, whichever file is first, changed with their file, and removed with it.
func TestConversionFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules, hosts := filepath.Join(dir, "a-rules.yaml"), filepath.Join(dir, "b-hosts.yaml")
	put(t, rules, "# rules\n"+hostRules())
	put(t, hosts, hostCRD(""))
	w := watch(t, newBackend(t), dir)
	w.eventuallyRules("move")
	w.figures(2, 0, 1)

	// A change of the CRD alone: the rules do not fit any more, until they are changed.
	put(t, hosts, hostCRD(", port: {type: integer}"))
	w.logged(1, "level=ERROR", "conversion rules are rejected", "crd="+hostsName, "file="+rules, "spec.port")
	w.figures(1, 1, 1)
	w.logged(1, "level=INFO", "set conversion rules from a file")
	put(t, rules, hostRules("drop: {path: spec.port}"))
	w.eventuallyRules("move drop")
	w.figures(2, 0, 1)
	w.logged(2, "level=INFO", "set conversion rules from a file")

	// A rejected change leaves the rules. The log has the position in the file.
	put(t, rules, "# one line more\n"+hostRules("drop: {path: spec.absent}"))
	w.logged(1, "level=ERROR", "conversion rules are rejected; the previously set rules stay", "file="+rules+":6", "rules[1]")
	w.figures(1, 1, 1)
	if got := w.rules(); got != "move drop" {
		t.Error(got)
	}
	// Both in one file.
	remove(t, rules)
	put(t, hosts, hostCRD(", port: {type: integer}")+"---\n"+hostRules("stash: {path: spec.port, maxBytes: 99}"))
	w.eventuallyRules("move stash")

	// A change of both is one change: the CRD never has rules that do not fit.
	before := w.backend.Sequence()
	put(t, hosts, hostCRD(", size: {type: integer}")+"---\n"+hostRules("drop: {path: spec.size}"))
	w.eventuallyRules("move drop")
	if writes := w.backend.Sequence() - before; writes != 1 {
		t.Errorf("%d writes", writes)
	}
	w.logged(4, "level=INFO", "set conversion rules from a file")
	w.logged(1, "conversion rules are rejected;", "spec.port") // as above

	put(t, hosts, hostCRD(""))
	w.eventuallyRules("none")
	w.logged(1, "level=INFO", "removed conversion rules", "crd="+hostsName)
	put(t, rules, hostRules())
	w.eventuallyRules("move")
	// Both files go: the CRD is deleted, because other clients have not changed it.
	remove(t, hosts)
	remove(t, rules)
	w.eventuallyRules("no CRD")
	w.figures(0, 0, 0)
	w.logged(0, "another client")
}

// Rules for a CRD that is not there are an error. They are set when the CRD comes, from a file or from another client.
func TestConversionWithoutCRD(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules, hosts := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "hosts.yaml")
	put(t, rules, "# rules\n"+hostRules())
	b := newBackend(t)
	w := watch(t, b, dir)
	waits := []string{"level=ERROR", "conversion rules are rejected; no rules are set", "file=" + rules + ":2", "has no CRD " + hostsName}
	w.logged(1, waits...)
	w.figures(0, 1, 0)
	w.stays("")
	w.logged(1, waits...)
	put(t, hosts, hostCRD(""))
	w.eventuallyRules("move")
	w.figures(2, 0, 1)

	remove(t, hosts)
	w.logged(2, waits...)
	if _, err := b.Register(t.Context(), "default", engine.YAML([]byte(hostCRD(""))), registry.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.eventuallyRules("move")
	remove(t, rules)
	w.eventuallyRules("none")
}

// Rules that are rejected at first leave the CRD without rules, and the log says so.
func TestConversionRejectedFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	put(t, filepath.Join(dir, "hosts.yaml"), hostCRD(""))
	put(t, rules, hostRules("drop: {path: spec.absent}"))
	w := watch(t, newBackend(t), dir)
	w.logged(1, "level=ERROR", "conversion rules are rejected; no rules are set", "file="+rules+":5", "rules[1]")
	if got := w.rules(); got != "none" {
		t.Error(got)
	}
}

// Of two files with rules for a CRD, the first counts. What is wrong with a file is logged with its position.
func TestConversionFileErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.yaml"), filepath.Join(dir, "b.yaml")
	put(t, filepath.Join(dir, "hosts.yaml"), hostCRD(", port: {type: integer}"))
	put(t, a, hostRules("drop: {path: spec.port}")+"---\n"+hostRules())
	put(t, b, hostRules("stash: {path: spec.port, maxBytes: 99}")+"---\ncrd: \"\"\nrules: []\n")
	w := watch(t, newBackend(t), dir)
	w.eventuallyRules("move drop")
	w.logged(1, "level=ERROR", "two files contain the same conversion rules", "crd="+hostsName, "first="+a, "file="+b)
	w.logged(1, "level=ERROR", "already has the conversion rules of "+hostsName, "file="+a+":7")
	w.logged(1, "level=ERROR", "no valid crd", "file="+b+":7")
	w.figures(1, 2, 1)
	remove(t, a)
	w.eventuallyRules("move stash")
	// A document that cannot be read may be the rules: they stay.
	put(t, b, "crd: [\n")
	w.logged(1, "level=ERROR", "cannot be read", "file="+b)
	w.settled(dir)
	if got := w.rules(); got != "move stash" {
		t.Error(got)
	}
	// A broken law is logged with an object.
	put(t, b, "crd: "+hostsName+`
between: [v1beta1, v1]
rules:
- drop: {path: spec.port}
- cel: {to: spec.endpoint.host, expr: "self.spec.host"}
  back: {spec.host: "self.spec.endpoint.host + 'x'"}
`)
	w.until(func() bool { return w.log.count("level=ERROR", "conversion rules are rejected", "law=", "object=") > 0 }, func() string { return "no law is broken" })
	if got := w.rules(); got != "move stash" {
		t.Error(got)
	}
}

// Rules that another client has set stay when the file goes.
func TestConversionOfOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	put(t, rules, hostRules())
	put(t, filepath.Join(dir, "hosts.yaml"), hostCRD(""))
	w := watch(t, newBackend(t), dir)
	w.eventuallyRules("move")
	other := engine.YAML([]byte(strings.Replace(hostRules("drop: {path: spec.endpoint.host}"), "- move: {from: spec.host, to: spec.endpoint.host}", "- drop: {path: spec.host}", 1)))
	done, err := w.backend.SetConversion(t.Context(), "default", hostsName, registry.ConversionChange{Rules: other})
	if err != nil || done.Outcome != registry.Updated {
		t.Fatalf("%+v, %v", done.Report.Conversion, err)
	}
	remove(t, rules)
	w.logged(1, "level=WARN", "another client has changed them", "crd="+hostsName)
	if got := w.rules(); got != "drop" {
		t.Error(got)
	}
	// A new manifest keeps them. That they do not fit is logged.
	put(t, filepath.Join(dir, "hosts.yaml"), hostCRD(", port: {type: integer}"))
	w.logged(1, "level=WARN", "do not fit any more", "crd="+hostsName, "spec.port")
}
