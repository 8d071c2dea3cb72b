package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	crdeval "github.com/crdeval/crdeval/clients/go"
	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// sample is a file with a write of an object.
type sample struct {
	name  string
	write crdeval.Write
}

// read reads the files of a directory. A file has an object, or an item as in the REST API: oldObject, object,
// subresource.
func read(dir string) (samples []sample, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no samples in %s", dir)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var item struct {
			OldObject, Object json.RawMessage
			Subresource       string
		}
		if err := yaml.Unmarshal(text, &item); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		write := crdeval.Write{New: text}
		if item.Object != nil {
			write = crdeval.Write{Old: item.OldObject, New: item.Object, Subresource: item.Subresource}
		}
		samples = append(samples, sample{filepath.Base(file), write})
	}
	return samples, err
}

// validate validates samples in one batch and prints the verdicts.
func validate(ctx context.Context, client *crdeval.Client, what string, samples []sample) error {
	var items []*crdevalv1.EvaluationItem
	for _, s := range samples {
		items = append(items, s.write.Item())
	}
	began := time.Now()
	results, err := client.ValidateItems(ctx, items, nil)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d %s validated in %.1f ms:\n", len(samples), what, time.Since(began).Seconds()*1000)
	for i, r := range results {
		printResult(samples[i].name, r)
	}
	return nil
}

func printResult(name string, r crdeval.Result) {
	switch v := r.Verdict; {
	case r.Err != nil:
		fmt.Printf("  %-26s NOT EVALUATED  %s\n", name, r.Err)
	case r.Allowed():
		fmt.Printf("  %-26s allowed\n", name)
	default:
		fmt.Printf("  %-26s rejected\n", name)
		if len(v.GetViolations()) == 0 { // for example a document that is not JSON
			fmt.Printf("    %s\n", v.GetRejection().GetMessage())
		}
	}
	for _, v := range r.Verdict.GetViolations() {
		fmt.Printf("    %s: %s\n", v.GetField(), v.GetMessage())
	}
	for _, v := range r.Verdict.GetRatcheted() {
		fmt.Printf("    ratcheted, because the value is unchanged: %s: %s\n", v.GetField(), v.GetMessage())
	}
	for _, c := range r.Verdict.GetChanges().GetDefaulted() {
		fmt.Printf("    defaulted: %s = %s\n", c.GetPath(), c.GetValue().GetJson())
	}
	for _, w := range r.Verdict.GetWarnings() {
		fmt.Printf("    warning: %s\n", w)
	}
}

// admit sends the CronTabs of the samples through the whole write path and patches the first one. It prints the objects
// that would be stored, in the form of kubectl.
func admit(ctx context.Context, client *crdeval.Client, samples []sample) error {
	var writes []crdeval.Write
	for _, s := range samples {
		if strings.HasPrefix(s.name, "crontab-") {
			writes = append(writes, s.write)
		}
	}
	stored, err := allowed(client.Admit(ctx, writes...))
	if err != nil {
		return err
	}
	patch := []byte(`[{"op": "replace", "path": "/spec/replicas", "value": 7},
		{"op": "add", "path": "/metadata/resourceVersion", "value": "1"}]`)
	patched, err := allowed(client.Admit(ctx, crdeval.Write{Old: stored[0], JSONPatch: patch}))
	if err != nil {
		return err
	}
	stored[0] = patched[0]
	text, err := client.TableText(ctx, crdeval.Subject{}, nil, stored...)
	if err != nil {
		return err
	}
	fmt.Printf("\n%d of %d CronTabs are admitted, and the first is patched. kubectl get would print:\n%s\n",
		len(stored), len(writes), text)
	return nil
}

// allowed returns the objects that would be stored, at least one.
func allowed(results []crdeval.Result, err error) (stored [][]byte, _ error) {
	for _, r := range results {
		if err == nil {
			err = r.Err
		}
		if r.Allowed() {
			stored = append(stored, r.StoredObject())
		}
	}
	if err == nil && len(stored) == 0 {
		err = fmt.Errorf("all %d objects are rejected", len(results))
	}
	return stored, err
}
