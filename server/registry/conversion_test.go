package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/convert"
)

const hostsName = "hosts.example.com"

// hosts is a CRD whose versions name a host differently. extra are further properties of the spec of v1.
func hosts(strategy, extra string) engine.Document {
	conversion := "{strategy: " + strategy + "}"
	if strategy == "Webhook" {
		conversion = "{strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {url: 'https://example.com/'}}}"
	}
	return engine.YAML([]byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: hosts.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: hosts, kind: Host}
  conversion: ` + conversion + `
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
`))
}

// moveHost are rules for hosts, with further rules, one per line.
func moveHost(more ...string) engine.Document {
	text := "crd: hosts.example.com\nbetween: [v1beta1, v1]\nrules:\n- move: {from: spec.host, to: spec.endpoint.host}\n"
	for _, rule := range more {
		text += "- " + rule + "\n"
	}
	return engine.YAML([]byte(text))
}

// setRules sets the rules of hosts and checks the outcome.
func setRules(t *testing.T, r *Registry, rules engine.Document, want Outcome) Registration {
	t.Helper()
	done, err := r.SetConversion(t.Context(), "default", hostsName, ConversionChange{Rules: rules})
	if err != nil || done.Outcome != want || (done.CRD == nil) != (want == Rejected) || (done.Token == "") != (want == Rejected) {
		t.Fatalf("%s, %+v, %v; want %s", done.Outcome, done.Report.Conversion, err, want)
	}
	return done
}

// convertHost converts an object of v1beta1 to v1 with a registry, at a revision of the CRD.
func convertHost(t *testing.T, r *Registry, revision string) (string, error) {
	t.Helper()
	v, err := r.View(t.Context(), "default", "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := v.Named(t.Context(), hostsName, revision)
	if err != nil {
		t.Fatal(err)
	}
	object := engine.JSON([]byte(`{"apiVersion": "example.com/v1beta1", "kind": "Host", "metadata": {"name": "a", "namespace": "b"}, "spec": {"host": "h"}}`))
	got, err := d.Convert(t.Context(), object, "v1", engine.TransformOptions{})
	if err != nil {
		return "", err
	}
	return string(got.Object), nil
}

func wantConverted(t *testing.T, r *Registry, revision string) {
	t.Helper()
	if got, err := convertHost(t, r, revision); err != nil || !strings.Contains(got, `"spec":{"endpoint":{"host":"h"}}`) {
		t.Errorf("%s, %v", got, err)
	}
}

// A CRD and its rules can change in one write. If the rules are rejected, nothing changes.
func TestConversionWithManifest(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	set := 0
	r.Registered = func(of Subject, outcome Outcome, _ error) {
		if of == SubjectConversion && outcome == Updated {
			set++
		}
	}
	register := func(s Submission) Registration {
		t.Helper()
		out, _, err := r.RegisterAll(t.Context(), "default", []Submission{s})
		if err != nil || out[0].Err != nil {
			t.Fatal(err, out[0].Err)
		}
		return out[0].Registration
	}
	port := hosts("Webhook", ", port: {type: integer}")
	done := register(Submission{Manifest: hosts("Webhook", ""), Conversion: moveHost()})
	if done.Outcome != Created || done.CRD.Conversion == nil || !done.Report.Conversion.Accepted {
		t.Fatalf("%+v", done)
	}
	wantConverted(t, r, "")
	before := r.Sequence()
	if done = register(Submission{Manifest: port, Conversion: moveHost("stash: {path: spec.port, maxBytes: 9}")}); done.Outcome != Updated ||
		!strings.Contains(string(done.CRD.Conversion), "stash") || r.Sequence() != before+1 {
		t.Fatalf("%+v", done)
	}
	wantConverted(t, r, "")
	if done = register(Submission{Manifest: port, Conversion: moveHost("stash: {path: spec.port, maxBytes: 9}")}); done.Outcome != Unchanged {
		t.Fatalf("%+v", done)
	}
	size := hosts("Webhook", ", size: {type: integer}")
	for _, c := range []struct {
		manifest, rules engine.Document
		want            string
	}{
		{port, moveHost("drop: {path: spec.absent}"), "spec.absent"},
		{size, moveHost("drop: {path: spec.absent}"), "spec.absent"},
		{port, moveHost("what: {}"), "what"},
		{hosts("Webhook", ""), engine.YAML([]byte(lossyRules)), ""},
	} {
		done = register(Submission{Manifest: c.manifest, Conversion: c.rules})
		report := done.Report.Conversion
		if done.Outcome != Rejected || !done.Report.Accepted || report.Accepted || done.CRD != nil || done.Token != "" {
			t.Errorf("%s: %+v", c.rules.YAML, done)
		}
		if c.want == "" && !slices.ContainsFunc(report.Laws, func(l convert.Law) bool { return l.Counterexample != nil }) {
			t.Errorf("%s: %+v", c.rules.YAML, report)
		}
		if c.want != "" && (!strings.Contains(report.Violations[0].Message, c.want) || report.Violations[0].Position == nil) {
			t.Errorf("%s: %+v", c.rules.YAML, report.Violations)
		}
		wantConverted(t, r, "")
	}
	out, _, err := r.RegisterAll(t.Context(), "default", []Submission{{Manifest: size, Conversion: engine.YAML([]byte("a: ["))}})
	if err != nil || engine.ReasonOf(out[0].Err) != engine.ReasonManifestUnreadable {
		t.Errorf("%v, %+v", err, out)
	}
	if set != 2 {
		t.Errorf("%d changes of rules are counted", set)
	}
	// The rules that the CRD keeps do not fit.
	done = register(Submission{Manifest: size, Conversion: engine.YAML([]byte("null"))})
	if done.Outcome != Updated || done.CRD.Conversion != nil || done.Report.Conversion.Accepted {
		t.Errorf("%+v", done)
	}
	if _, err := convertHost(t, r, ""); engine.ReasonOf(err) != engine.ReasonConversionUnavailable {
		t.Error(err)
	}
}

// Each change of rules is counted, but no check of rules.
func TestConversionIsCounted(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	var got []string
	r.Registered = func(of Subject, outcome Outcome, err error) {
		got = append(got, fmt.Sprintf("%s %s %t", of, outcome, err != nil))
	}
	mustAccept(t, r, hosts("Webhook", ""), Created)
	setRules(t, r, moveHost(), Updated)
	setRules(t, r, moveHost(), Unchanged)
	setRules(t, r, moveHost("drop: {path: spec.absent}"), Rejected)
	setRules(t, r, engine.Document{}, Updated)
	for _, change := range []ConversionChange{{Rules: moveHost(), Etag: "old"}, {Rules: moveHost(), ValidateOnly: true}} {
		if _, err := r.SetConversion(t.Context(), "default", hostsName, change); (err != nil) == change.ValidateOnly {
			t.Error(err)
		}
	}
	const want = "[crd CREATED false conversion UPDATED false conversion UNCHANGED false conversion REJECTED false " +
		"conversion UPDATED false conversion  true]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Rules are a part of the revision: setting, changing and removing them is a write like that of a manifest.
func TestSetConversion(t *testing.T) {
	store := newTestStore()
	c := &clock{now: time.Unix(1000, 0)}
	r := newRegistry(t, store, c)
	plain := mustAccept(t, r, hosts("Webhook", ""), Created).CRD
	c.advance(time.Hour)
	first := setRules(t, r, moveHost(), Updated)
	d := first.CRD
	if d.Revision == plain.Revision || d.Etag == plain.Etag || d.Generation != 1 || !d.Updated.Equal(c.now) || !d.Created.Equal(plain.Created) {
		t.Errorf("%+v, was %+v", d, plain)
	}
	report := first.Report.Conversion
	if !report.Accepted || len(report.Laws) == 0 || report.Laws[0].Objects == 0 || len(report.Rules) == 0 {
		t.Errorf("%+v", report)
	}
	wantConverted(t, r, "")
	if _, err := convertHost(t, r, plain.Revision); err == nil {
		t.Error("the revision without rules converts")
	}

	// White space, comments and the syntax do not matter.
	json := engine.JSON([]byte(`{"between": ["v1beta1", "v1"], "crd": "hosts.example.com",
		"rules": [{"move": {"from": "spec.host", "to": "spec.endpoint.host"}}]}`))
	for _, same := range []engine.Document{moveHost(), engine.YAML(append([]byte("# hosts\n"), moveHost().YAML...)), json} {
		if again := setRules(t, r, same, Unchanged); again.CRD.Etag != d.Etag || again.CRD.Revision != d.Revision || !again.Report.Conversion.Accepted {
			t.Errorf("%+v", again.CRD)
		}
	}
	found, err := r.CRD(t.Context(), "default", hostsName, "", "")
	if err != nil || !strings.Contains(string(found.Conversion), `"crd":"hosts.example.com"`) || strings.Contains(string(found.Manifest), "between") {
		t.Errorf("%s, %s, %v", found.Conversion, found.Manifest, err)
	}
	if old, err := r.CRD(t.Context(), "default", hostsName, plain.Revision, ""); err != nil || old.Conversion != nil || string(old.Manifest) != string(found.Manifest) {
		t.Errorf("%s, %v", old.Conversion, err)
	}
	page, err := r.CRDs(t.Context(), "default", Page{WithManifest: true}, "")
	if err != nil || string(page.CRDs[0].Conversion) != string(found.Conversion) {
		t.Errorf("%+v, %v", page, err)
	}

	// Another process with the same store compiles the revision again.
	restarted := newRegistry(t, store, c)
	wantConverted(t, restarted, "")
	setRules(t, restarted, moveHost(), Unchanged)
	wantConverted(t, restarted, d.Revision)

	removed := setRules(t, r, engine.Document{}, Updated)
	if removed.CRD.Revision != plain.Revision || removed.Report.Conversion != nil {
		t.Errorf("%+v, %+v", removed.CRD, removed.Report.Conversion)
	}
	if _, err := convertHost(t, r, ""); err == nil {
		t.Error("removed rules convert")
	}
	setRules(t, r, engine.Document{}, Unchanged)
	setRules(t, r, moveHost(), Updated)
	setRules(t, r, engine.YAML([]byte("# no rules\n")), Updated)
	setRules(t, r, engine.JSON([]byte(" null\n")), Unchanged)

	// With the CRD go its rules.
	setRules(t, r, moveHost(), Updated)
	if _, err := r.Delete(t.Context(), "default", hostsName, Precondition{}); err != nil {
		t.Fatal(err)
	}
	if again := mustAccept(t, r, hosts("Webhook", ""), Created); again.CRD.Revision != plain.Revision || again.Report.Conversion != nil {
		t.Errorf("%+v, %+v", again.CRD, again.Report.Conversion)
	}
}

// In lossyRules each expression is valid, but back does not undo the other.
const lossyRules = `
crd: hosts.example.com
between: [v1beta1, v1]
rules:
- cel: {to: spec.endpoint.host, expr: "self.spec.host"}
  back: {spec.host: "self.spec.endpoint.host + 'x'"}
`

// Rules are accepted if they except the laws that they break. The report still has the counterexamples.
func TestExceptedLaws(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, hosts("Webhook", ""), Created)
	setRules(t, r, engine.YAML([]byte(lossyRules+"except: [edit]\n")), Rejected)
	report := setRules(t, r, engine.YAML([]byte(lossyRules+"except: [round-trip, edit]\n")), Updated).Report.Conversion
	broken := 0
	for _, law := range report.Laws {
		if law.Counterexample != nil {
			broken++
		}
	}
	if !report.Accepted || broken == 0 {
		t.Errorf("%+v", report)
	}
}

// Rejected rules change nothing. The report says what is wrong with them, and where.
func TestRejectedConversion(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	before := mustAccept(t, r, hosts("Webhook", ""), Created).CRD
	done := setRules(t, r, moveHost("drop: {path: spec.absent}"), Rejected)
	found := done.Report.Conversion.Violations
	if len(found) == 0 || found[0].Position == nil || found[0].Position.Line != 5 || !strings.HasPrefix(found[0].Pointer, "/rules/1") {
		t.Errorf("%+v", found)
	}
	if len(done.Report.Conversion.Laws) > 0 {
		t.Error("the laws of rejected rules are tested")
	}
	broken := setRules(t, r, engine.YAML([]byte(lossyRules)), Rejected).Report.Conversion
	if broken.Accepted || len(broken.Violations) > 0 {
		t.Errorf("%+v", broken)
	}
	counterexamples := 0
	for _, law := range broken.Laws {
		if law.Counterexample != nil {
			counterexamples++
		}
	}
	if counterexamples == 0 {
		t.Errorf("%+v", broken.Laws)
	}
	if now, err := r.CRD(t.Context(), "default", hostsName, "", ""); err != nil || now.Etag != before.Etag || now.Conversion != nil {
		t.Errorf("%+v, %v", now, err)
	}
	// The rules are for another CRD.
	other := engine.YAML([]byte(strings.Replace(string(moveHost().YAML), hostsName, "others.example.com", 1)))
	if found := setRules(t, r, other, Rejected).Report.Conversion.Violations; len(found) == 0 || !strings.HasPrefix(found[0].Pointer, "/crd") {
		t.Errorf("%+v", found)
	}
	// The rules are not a document.
	_, err := r.SetConversion(t.Context(), "default", hostsName, ConversionChange{Rules: engine.YAML([]byte("crd: [\n"))})
	if engine.ReasonOf(err) != engine.ReasonManifestUnreadable {
		t.Errorf("got %v", err)
	}
	// An API server would not call a webhook.
	mustAccept(t, r, hosts("None", ""), Updated)
	none := setRules(t, r, moveHost(), Rejected).Report.Conversion
	if len(none.Violations) != 1 || !strings.Contains(none.Violations[0].Error(), "Webhook") {
		t.Errorf("%+v", none.Violations)
	}
}

func TestConversionPreconditions(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	set := func(catalog, name string, change ConversionChange) error {
		_, err := r.SetConversion(t.Context(), catalog, name, change)
		return err
	}
	wantReason(t, set("none", hostsName, ConversionChange{Rules: moveHost()}), CatalogNotFound)
	wantReason(t, set("default", hostsName, ConversionChange{Rules: moveHost()}), CRDNotFound)
	wantReason(t, set("default", hostsName, ConversionChange{}), CRDNotFound)
	d := mustAccept(t, r, hosts("Webhook", ""), Created).CRD
	wantReason(t, set("default", hostsName, ConversionChange{Rules: moveHost(), Etag: "other"}), EtagMismatch)
	wantReason(t, set("default", hostsName, ConversionChange{Rules: moveHost(), Etag: "other", ValidateOnly: true}), EtagMismatch)

	sequence := r.Sequence()
	for _, tc := range []struct {
		rules engine.Document
		want  Outcome
	}{{moveHost(), Updated}, {moveHost("drop: {path: spec.absent}"), Rejected}, {engine.Document{}, Unchanged}} {
		done, err := r.SetConversion(t.Context(), "default", hostsName, ConversionChange{Rules: tc.rules, Etag: d.Etag, ValidateOnly: true})
		if err != nil || done.Outcome != tc.want || done.Token != "" || done.CRD != nil && done.CRD.Etag != "" {
			t.Errorf("%+v, %v; want %s", done, err, tc.want)
		}
	}
	if r.Sequence() != sequence {
		t.Error("a validation has written")
	}
	wantReason(t, set("default", hostsName, ConversionChange{Rules: moveHost(), Etag: d.Etag}), "")
	wantReason(t, set("default", hostsName, ConversionChange{Etag: d.Etag}), EtagMismatch)
}

// A manifest keeps the rules of its CRD, also if they do not fit any more.
func TestRegisterKeepsConversion(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, hosts("Webhook", ""), Created)
	set := setRules(t, r, moveHost(), Updated).CRD
	same := mustAccept(t, r, hosts("Webhook", ""), Unchanged)
	if c := same.Report.Conversion; same.CRD.Revision != set.Revision || c == nil || !c.Accepted {
		t.Errorf("%+v, %+v", same.CRD, c)
	}
	added := mustAccept(t, r, hosts("Webhook", ", port: {type: integer}"), Updated)
	c := added.Report.Conversion
	if c == nil || c.Accepted || len(c.Violations) == 0 {
		t.Fatalf("%+v", c) // the port is neither carried nor stashed nor dropped
	}
	for _, v := range c.Violations {
		if v.Position != nil {
			t.Errorf("a position of a text that the caller has not: %+v", v)
		}
	}
	if _, err := convertHost(t, r, ""); err == nil {
		t.Error("rules that do not fit convert")
	}
	wantConverted(t, r, set.Revision)
	setRules(t, r, moveHost("stash: {path: spec.port, maxBytes: 100}"), Updated)
	wantConverted(t, r, "")
	if checked, err := r.Check(t.Context(), "default", Submission{Manifest: hosts("None", ", port: {type: integer}")}, ""); err != nil || checked.Report.Conversion.Accepted || !checked.Report.Accepted {
		t.Errorf("%+v, %v", checked.Report, err)
	}
	// An inline CRD is an update of the registered one.
	v, err := r.ViewWith(t.Context(), "default", "", []engine.Document{hosts("Webhook", ", port: {type: integer}, name: {type: string}")})
	if err != nil {
		t.Fatal(err)
	}
	inline, err := v.Named(t.Context(), hostsName, "")
	if err != nil || !convert.IsDeclared(inline) {
		t.Errorf("%v", err)
	}
}

// Writes of manifests and of rules at the same time are all made: the last revision has both.
func TestConversionRaces(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	mustAccept(t, r, hosts("Webhook", ""), Created)
	var wg sync.WaitGroup
	const writers = 4
	for i := range writers {
		wg.Go(func() {
			if done, err := r.Register(t.Context(), "default", hosts("Webhook", fmt.Sprintf(", x: {type: object, maxProperties: %d}", i)), Precondition{}); err != nil || done.Outcome == Rejected {
				t.Errorf("%+v, %v", done, err)
			}
		})
	}
	wg.Go(func() {
		// Before the first manifest is written, x is not in the schema.
		for _, rules := range []engine.Document{moveHost(), moveHost("drop: {path: spec.x}")} {
			done, err := r.SetConversion(t.Context(), "default", hostsName, ConversionChange{Rules: rules})
			if err != nil {
				t.Error(err)
			}
			if done.Outcome != Rejected {
				break
			}
		}
	})
	wg.Wait()
	d, err := r.CRD(t.Context(), "default", hostsName, "", "")
	if err != nil || !strings.Contains(string(d.Manifest), "maxProperties") || d.Generation != writers+1 {
		t.Errorf("%s, generation %d, %v", d.Manifest, d.Generation, err)
	}
	if len(d.Conversion) == 0 {
		t.Error("the rules are lost")
	}
}

// Watches report new rules as they report a new manifest.
func TestWatchConversion(t *testing.T) {
	r := newRegistry(t, newTestStore(), nil)
	before := mustAccept(t, r, hosts("Webhook", ""), Created)
	set := setRules(t, r, moveHost(), Updated)
	enough := errors.New("enough")
	err := r.Watch(t.Context(), "default", before.Token, func(e Event) error {
		if e.Type != Modified || e.CRD.Revision != set.CRD.Revision || e.Token != set.Token {
			t.Errorf("%+v", e)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}
