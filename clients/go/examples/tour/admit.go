package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	crdeval "github.com/crdeval/crdeval/clients/go"
)

// admit sends the sample CronTabs through the write path and patches the first one. It prints the objects that would be
// stored, in the form of kubectl.
func admit(ctx context.Context, client *crdeval.Client, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "crontab-*.yaml"))
	if err != nil {
		return err
	}
	var writes []crdeval.Write
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		writes = append(writes, crdeval.Write{New: text})
	}
	results, err := client.Admit(ctx, writes...)
	if err != nil {
		return err
	}
	stored, err := allowed(results)
	if err != nil {
		return err
	}
	if len(stored) == 0 {
		return fmt.Errorf("none of %d CronTabs would be stored", len(files))
	}
	patched, err := client.Admit(ctx, crdeval.Write{Old: stored[0], JSONPatch: []byte(`[{"op": "replace", "path": "/spec/replicas", "value": 7}, {"op": "add", "path": "/metadata/resourceVersion", "value": "1"}]`)})
	if err != nil {
		return err
	}
	after, err := allowed(patched)
	if err != nil {
		return err
	}
	if len(after) == 1 {
		stored[0] = after[0]
	}
	text, err := client.TableText(ctx, crdeval.Subject{}, nil, stored...)
	if err != nil {
		return err
	}
	fmt.Printf("%d of %d CronTabs admitted over gRPC, one of them patched; stored, they would be shown so:\n%s\n", len(stored), len(files), text)
	return nil
}

// allowed returns the objects that would be stored.
func allowed(results []crdeval.Result) ([][]byte, error) {
	var stored [][]byte
	for _, r := range results {
		if r.Err != nil {
			return nil, r.Err
		}
		if r.Allowed() {
			stored = append(stored, r.StoredObject())
		}
	}
	return stored, nil
}
