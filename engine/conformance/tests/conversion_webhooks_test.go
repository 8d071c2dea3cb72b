package tests

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/conformance/oracle"
	"github.com/crdeval/crdeval/engine/conformance/suites/conversion"
	"github.com/crdeval/crdeval/engine/conformance/upstreamtests"
	"github.com/crdeval/crdeval/engine/conversionwebhook"
)

// The tests in this file replay upstream's integration test with upstream's own webhooks, which run in another process.
// An API server's handlers are asked the same, with a storage in memory. Deletions are not replayed, because crdeval
// does not delete objects.

// conversionGroups are the webhooks of upstream's test, and the error of reads at another version than the stored one.
var conversionGroups = map[string]string{
	"noop-converter": "", "nontrivial-converter": "", "metadata-mutating": "",
	"metadata-uid-mutating": "must have the same UID",
	"empty-response":        "returned 0 objects, expected 1", "failure-message": "custom webhook conversion error",
	"unhandled": "the server rejected our request",
}

// TestUpstreamConversionWebhooks replays testWebhookConverter. Objects are created at each served version and stored at
// each of them; then they are read, listed, updated, patched and scaled at each served version.
func TestUpstreamConversionWebhooks(t *testing.T) {
	rows, stop, err := upstreamtests.Start(upstreamtests.ConversionWebhooks)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	if len(rows) != 2*len(conversionGroups) {
		t.Errorf("upstream has %d webhooks", len(rows))
	}
	for _, r := range rows {
		t.Run(r.Name, func(t *testing.T) {
			name := strings.TrimSuffix(strings.TrimSuffix(r.Name, "-v1"), "-v1beta1")
			failure, known := conversionGroups[name]
			if !known {
				t.Error("the webhook is not known")
			}
			p := &replay{row: r, failure: failure}
			for _, storage := range []string{"v1beta1", "v1beta2", "v1alpha1"} {
				p.with(t, storage)
			}
			t.Logf("%d requests, %d with the failure of the webhook, %d with other internal errors", p.asked, p.failed, p.broken)
			if (failure != "") != (p.failed > 0) || failure == "" && p.broken > 0 {
				t.Errorf("%d failures %q, %d other internal errors", p.failed, failure, p.broken)
			}
			if name == "metadata-mutating" && p.labelled == 0 {
				t.Error("the labels of the webhook are lost")
			}
		})
		switch r.Name {
		case "nontrivial-converter-v1":
			t.Run("unused versions", func(t *testing.T) { replayUnusedVersions(t, r) })
		case "noop-converter-v1beta1":
			t.Run("whitespace bundle", func(t *testing.T) { replayWhitespaceBundle(t, r) })
		}
	}
}

// replay is the replay of one webhook.
type replay struct {
	row     upstreamtests.Row
	failure string
	session conversion.Session
	stored  []string // the objects in the storage

	asked, failed, broken, labelled int
}

// webhookManifest returns upstream's CRD with the webhook.
func webhookManifest(t *testing.T, r upstreamtests.Row, storage string, bundle []byte) []byte {
	t.Helper()
	crd := decoded(t, r.Schema)
	crd["apiVersion"], crd["kind"] = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	delete(crd, "status")
	spec := crd["spec"].(jsonObject)
	for _, v := range spec["versions"].([]any) {
		v := v.(jsonObject)
		v["storage"] = v["name"] == storage
	}
	spec["conversion"] = jsonObject{"strategy": "Webhook", "webhook": jsonObject{
		"conversionReviewVersions": r.Rules,
		"clientConfig":             jsonObject{"url": r.Texts[0], "caBundle": base64.StdEncoding.EncodeToString(bundle)},
	}}
	return []byte(encoded(t, crd))
}

var servedVersions = []string{"v1alpha1", "v1beta1", "v1beta2"}

// object returns upstream's object of a served version with another name.
func (p *replay) object(t *testing.T, version, name string) jsonObject {
	t.Helper()
	list := decoded(t, []byte(`{"all":`+string(p.row.Obj)+`}`))["all"].([]any)
	o := list[slices.Index(servedVersions, version)].(jsonObject)
	o["metadata"].(jsonObject)["name"] = name
	return o
}

// ask compares one request.
func (p *replay) ask(t *testing.T, c conversion.Case) oracle.Answer {
	t.Helper()
	p.asked++
	up, diffs := p.session.Compare(c)
	for _, d := range diffs {
		t.Errorf("%+v: %s", c, d)
	}
	switch {
	case up.Rejection == nil:
	case p.failure != "" && strings.Contains(up.Rejection.Message, p.failure):
		p.failed++
	case up.Rejection.Code == 500 && c.How != "getscale": // there is no spec in the schemas, and so no Scale
		p.broken++
	}
	return up
}

// with replays the test with a storage version.
func (p *replay) with(t *testing.T, storage string) {
	t.Helper()
	p.session = newSession(t, webhookManifest(t, p.row, storage, []byte(p.row.Texts[1])), nil)
	p.ask(t, conversion.Case{How: "create", Version: "v1alpha2", Body: encoded(t, p.object(t, "v1alpha1", "unserved"))})
	for _, version := range servedVersions {
		o := p.object(t, version, "mutation-"+version)
		o["foo"], o["defaults"] = "garbage", jsonObject{}
		up := p.ask(t, conversion.Case{How: "create", Version: version, Body: encoded(t, o)})
		if up.Stored != nil && storage == "v1beta1" {
			p.store(t, up.Stored)
		}
	}
	if storage == "v1beta1" {
		marker := p.object(t, "v1beta1", "marker-mutation")
		marker["foo"] = "garbage" // as if it had been added in the storage
		marker["metadata"].(jsonObject)["labels"] = jsonObject{"mutated": "true"}
		p.store(t, []byte(encoded(t, marker)))
		p.store(t, []byte(encoded(t, p.object(t, "v1beta2", "mixed-mutation"))))
	}
	for _, version := range servedVersions {
		p.ask(t, conversion.Case{How: "list", Version: version, Objects: p.stored})
		for _, old := range p.stored {
			p.about(t, version, old, storage == "v1beta1")
		}
	}
}

// store adds what a server adds to an object.
func (p *replay) store(t *testing.T, text []byte) {
	t.Helper()
	o := decoded(t, text)
	metadata := o["metadata"].(jsonObject)
	metadata["uid"], metadata["creationTimestamp"], metadata["resourceVersion"] = "u", "2024-01-01T00:00:00Z", "7"
	p.stored = append(p.stored, encoded(t, o))
}

// about asks for a stored object, and writes it.
func (p *replay) about(t *testing.T, version, old string, subresources bool) {
	t.Helper()
	up := p.ask(t, conversion.Case{How: "get", Version: version, Old: old})
	if up.Rejection == nil && strings.Contains(string(up.Object), `"labels":{"from":`) {
		p.labelled++
	}
	metadata := decoded(t, []byte(old))["metadata"].(jsonObject)
	changed := p.object(t, version, metadata["name"].(string))
	changed["metadata"] = metadata
	update := conversion.Case{How: "update", Op: oracle.Update, Version: version, Old: old, Body: encoded(t, changed)}
	patch := conversion.Case{How: "patch", Op: oracle.Update, Version: version, Old: old,
		Body: `{"metadata":{"annotations":{"patch":"true"}}}`}
	p.ask(t, update)
	p.ask(t, patch)
	if !subresources {
		return
	}
	p.ask(t, conversion.Case{How: "getscale", Version: version, Old: old})
	for _, sub := range []oracle.Op{oracle.Status, oracle.Scale} {
		patch.Op, update.How, update.Op = sub, string(sub), sub
		if sub == oracle.Scale {
			update.Body = encoded(t, jsonObject{"apiVersion": "autoscaling/v1", "kind": "Scale",
				"metadata": jsonObject{"name": metadata["name"]}, "spec": jsonObject{"replicas": 42}})
		}
		p.ask(t, patch)
		p.ask(t, update)
	}
}

// desired records the versions that a webhook is asked for.
type desired struct {
	conversionwebhook.Converter
	versions map[string]int
}

func (d desired) Convert(ctx context.Context, r conversionwebhook.Request) ([][]byte, error) {
	d.versions[r.DesiredAPIVersion]++
	return d.Converter.Convert(ctx, r)
}

// replayUnusedVersions replays TestWebhookNotCalledForUnusedVersions, with updates and patches instead of server-side
// apply, which crdeval does not have.
func replayUnusedVersions(t *testing.T, r upstreamtests.Row) {
	asked := map[string]int{}
	p := &replay{row: r}
	p.session = newSession(t, webhookManifest(t, r, "v1beta1", []byte(r.Texts[1])),
		func(c conversionwebhook.Converter) conversionwebhook.Converter { return desired{c, asked} })
	p.store(t, []byte(encoded(t, p.object(t, "v1beta1", "marker"))))
	for _, version := range servedVersions {
		p.about(t, version, p.stored[0], true)
	}
	if p.broken > 0 || len(asked) != 3 || asked["stable.example.com/v1alpha2"] > 0 {
		t.Errorf("%d errors, asked for %v", p.broken, asked)
	}
}

// replayWhitespaceBundle replays TestWebhookConversion_WhitespaceCABundleEtcdBypass: a stored CRD with an empty CA
// bundle serves what needs no conversion.
func replayWhitespaceBundle(t *testing.T, r upstreamtests.Row) {
	p := &replay{row: r, failure: "certificate signed by unknown authority"}
	p.session = newSession(t, webhookManifest(t, r, "v1beta1", []byte("    \n\t   ")), nil)
	p.store(t, []byte(encoded(t, p.object(t, "v1beta1", "test"))))
	if up := p.ask(t, conversion.Case{How: "get", Version: "v1beta1", Old: p.stored[0]}); up.Rejection != nil {
		t.Errorf("%+v", up.Rejection)
	}
	if p.ask(t, conversion.Case{How: "get", Version: "v1beta2", Old: p.stored[0]}); p.failed != 1 {
		t.Error("the webhook is called without its certificate")
	}
}
