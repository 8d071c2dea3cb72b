package workspace_test

import (
	"context"
	"fmt"
	"testing/fstest"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

var repository = fstest.MapFS{
	"crds/crontab.yaml": {Data: []byte(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.stable.example.com}
spec:
  group: stable.example.com
  scope: Namespaced
  names: {plural: crontabs, kind: CronTab}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replicas: {type: integer, maximum: 10}}}
`)},
	"team/nightly.yaml": {Data: []byte(`# two documents
apiVersion: stable.example.com/v1
kind: CronTab
metadata: {name: nightly}
spec:
  replicas: 11
---
apiVersion: stable.example.com/v1
kind: CronTabs
metadata: {name: hourly}
`)},
}

// The objects of a repository are evaluated with the CRDs in it.
func Example() {
	ctx := context.Background()
	var all []*workspace.Manifest
	var w workspace.Workspace
	for source := range workspace.Walk(repository, ".", workspace.WalkOptions{Recursive: true}) {
		file := workspace.Load(ctx, source, nil)
		w.Set(file)
		all = append(all, file.Manifests...)
	}
	for _, m := range all {
		if m.IsCRD() {
			continue
		}
		evaluate := func(_ *workspace.CRD, d *engine.Definition) (*engine.Verdict, error) {
			return d.Admit(ctx, engine.Create{Object: m.Document}, engine.AdmitOptions{CompleteMetadata: true})
		}
		for _, answer := range w.Evaluate(ctx, m.APIVersion, m.Kind, m.Path(), evaluate) {
			if answer.Err != nil {
				fmt.Printf("%s:%d: %v\n", m.File, m.Line(), answer.Err)
				continue
			}
			for _, v := range answer.Verdict.Violations {
				fmt.Printf("%s:%d: %v\n", m.File, v.Position.Line, v)
			}
		}
	}
	// Output:
	// team/nightly.yaml:6: spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to 10
	// team/nightly.yaml:8: no CRD for CronTabs (stable.example.com/v1): did you mean CronTab (stable.example.com)?
}
