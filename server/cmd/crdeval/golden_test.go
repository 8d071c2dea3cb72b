package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
	"github.com/crdeval/crdeval/server/registry"
)

var update = flag.Bool("update", false, "update testdata/golden and testdata/doors/table.txt; review the changes before the commit")

// TestGolden runs commands in testdata and compares output and exit code with testdata/golden.
func TestGolden(t *testing.T) {
	testenv.SingleGoroutine(t)
	for _, tc := range []struct{ name, args string }{
		{"diff", "diff old.yaml new.yaml --objects objects.yaml"},
		{"diff-json", "diff old.yaml new.yaml --objects objects.yaml -o json"},
		{"diff-breaking", "diff old.yaml new.yaml --show breaking --fail-on never"},
		{"diff-partial", "diff old.yaml new.yaml --partial --show breaking"},
		{"diff-github", "diff old.yaml new.yaml --objects objects.yaml -o github --fail-on breaking"},
		{"diff-github-counterexamples", "diff old.yaml new.yaml -o github --counterexamples=200"},
		{"diff-junit", "diff old.yaml new.yaml --objects objects.yaml -o junit"},
		{"diff-github-unreadable", "diff objects.yaml new.yaml -o github"},
		{"diff-identical", "diff old.yaml old.yaml --fail-on care"},
		{"diff-counterexamples", "diff old.yaml new.yaml --counterexamples --show breaking"},
		{"diff-counterexamples-outside", "diff ropes-old.yaml ropes-new.yaml --counterexamples --show breaking"},
		{"diff-counterexamples-rejected", "diff ropes-old.yaml ropes-rejected.yaml --counterexamples --show breaking"},
		{"generate", "generate --crds buoys.yaml --valid 1 --invalid 4"},
		{"generate-constraints", "generate --crds admit-crd.yaml --valid 1 --invalid 6"},
		{"generate-suite", "generate --crds admit-crd.yaml --valid 1 --invalid 2 -o suite"},
		{"generate-usage-none", "generate --crds admit-crd.yaml --valid 0 --invalid 0"},
		{"generate-usage-stdin", "generate --crds - -o suite"},
		{"generate-usage-crd", "generate --crds admit-crd.yaml --crd nope.example.com"},
		{"generate-rejected", "generate --crds admit-rejected-crd.yaml"},
		{"diff-usage-counterexamples", "diff old.yaml new.yaml --counterexamples=0"},
		{"diff-usage-counterexamples-text", "diff old.yaml new.yaml --counterexamples=x"},
		{"diff-one", "diff buoys.yaml rejected.yaml"},
		{"diff-other-kinds", "diff buoys.yaml buoys.yaml --objects objects.yaml"},
		{"diff-unreadable", "diff objects.yaml new.yaml"},
		{"diff-missing", "diff old.yaml missing.yaml"},
		{"diff-usage", "diff old.yaml"},
		{"diff-usage-server", "diff old.yaml new.yaml --server localhost:1"},
		{"diff-usage-revision", "diff old.yaml new.yaml --revision x"},
		{"diff-usage-stdin", "diff - -"},
		{"check", "check --skip-other-kinds new.yaml buoys.yaml"},
		{"check-json", "check -o json --skip-other-kinds new.yaml"},
		{"check-old", "check --skip-other-kinds --old old.yaml new.yaml rejected.yaml"},
		{"check-again", "check again.yaml buoys.yaml rejected.yaml buoys.yaml"},
		{"check-again-json", "check -o json buoys.yaml rejected.yaml"},
		{"check-again-old", "check --skip-other-kinds --old old.yaml new.yaml again.yaml"},
		{"check-old-unreadable", "check --old objects.yaml new.yaml"},
		{"check-conversion", "check hosts.yaml"},
		{"check-conversion-json", "check hosts.yaml -o json"},
		{"check-conversion-rejected", "check hosts-rejected.yaml --old hosts.yaml"},
		{"check-conversion-lossy", "check hosts-lossy.yaml --old hosts.yaml"},
		{"admit-conversion-lossy", "admit --crds hosts-crd.yaml hosts-lossy.yaml -o junit"},
		{"admit-conversion", "admit --crds hosts.yaml host.yaml -o stored"},
		{"admit-conversion-rejected", "admit --crds hosts.yaml hosts-rejected.yaml host.yaml"},
		{"admit-conversion-junit", "admit --crds hosts.yaml hosts-rejected.yaml host.yaml -o junit"},
		{"discover-conversion", "discover hosts.yaml"},
		{"diff-conversion", "diff hosts.yaml hosts.yaml"},
		{"admit", "admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml"},
		{"admit-explain", "admit --explain --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml"},
		{"admit-quiet", "admit -q --crds admit-crd.yaml --old admit-old.yaml --field-validation warn admit-new.yaml"},
		{"admit-json", "admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml -o json"},
		{"admit-junit", "admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml -o junit"},
		{"check-junit", "check --skip-other-kinds --old old.yaml new.yaml rejected.yaml -o junit"},
		{"admit-stored", "admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml -o stored"},
		{"admit-table", "admit --crds admit-crd.yaml --old admit-old.yaml admit-new.yaml -o table"},
		{"admit-patch", "admit --crds admit-crd.yaml --patch-file admit-patch.yaml --type json admit-old.yaml -o yaml"},
		{"admit-no-crd", "admit admit-new.yaml"},
		{"admit-rejected-crd", "admit admit-rejected-crd.yaml admit-new.yaml"},
		{"admit-missing", "admit --crds admit-crd.yaml missing.yaml"},
		{"admit-nothing", "admit admit-crd.yaml"},
		{"admit-selector", "admit --crds admit-crd.yaml -p {} admit-old.yaml -o table --field-selector spec.colour=Red"},
		{"admit-usage", "admit"},
		{"admit-usage-stdin", "admit - --old -"},
		{"admit-usage-subresource", "admit --subresource status admit-old.yaml"},
		{"admit-usage-patch", "admit --patch {} --old admit-old.yaml admit-new.yaml"},
		{"admit-usage-now", "admit -o table --now tomorrow admit-new.yaml"},
		{"admit-usage-token", "admit --token x admit-new.yaml"},
		{"admit-usage-catalog", "admit --catalog x admit-new.yaml"},
		{"admit-usage-kubernetes", "admit --kubernetes 1.99 admit-new.yaml"},
		{"admit-unreadable-crd", "admit admit-unreadable-crd.yaml admit-new.yaml"},
		{"explain-usage-depth", "explain --crds admit-crd.yaml kites --max-depth 2"},
		{"explain-usage-negative", "explain --crds admit-crd.yaml kites -R --max-depth=-1"},
		{"admit-usage-type", "admit --type json admit-new.yaml"},
		{"test", "test suites/kites.yaml"},
		{"test-json", "test suites/kites.yaml -o json"},
		{"test-junit", "test suites/kites.yaml suites/invalid.yaml -o junit"},
		{"test-github", "test suites/kites.yaml suites/invalid.yaml -o github"},
		{"test-run", "test suites/kites.yaml -v --run size.is"},
		{"test-run-none", "test suites/kites.yaml --run nothing"},
		{"test-invalid", "test suites/invalid.yaml"},
		{"test-directory", "test suites -v --run red"},
		{"test-not-a-suite", "test admit-crd.yaml missing.yaml"},
		{"test-openshift", "test suites/tests -R -v"},
		{"test-openshift-crds", "test suites/tests/kites.example.com/stable.testsuite.yaml --crds suites/zz_generated.crd-manifests/kites-Default.crd.yaml -o json --run five"},
		{"test-openshift-no-crds", "test suites/tests/kites.example.com/stable.testsuite.yaml --crds admit-old.yaml"},
		{"test-openshift-gates", "test suites/tests/kites.example.com/gated.testsuite.yaml --crds suites/zz_generated.crd-manifests/kites-Default.crd.yaml"},
		{"test-coverage", "test suites/coverage.yaml --coverage"},
		{"test-coverage-json", "test suites/coverage.yaml --coverage -o json"},
		{"test-coverage-openshift", "test suites/tests -R --coverage --run Should.re"},
		{"test-mutate", "test suites/coverage.yaml --mutate --mutate-tries 200"},
		{"test-mutate-json", "test suites/coverage.yaml --mutate --mutate-limit 5 -o json"},
		{"test-mutate-score", "test suites/coverage.yaml --mutate --mutate-limit 3 --min-score 100"},
		{"test-usage-mutate", "test suites/coverage.yaml --mutate-seed 1"},
		{"test-usage-mutate-server", "test suites/coverage.yaml --mutate --server localhost:1"},
		{"test-usage-coverage", "test suites/kites.yaml --coverage -o junit"},
		{"test-usage", "test"},
		{"test-usage-run", "test suites/kites.yaml --run ("},
		{"convert", "convert --crds convert-crd.yaml --crds convert-rules.yaml convert-objects.yaml --to v1"},
		{"convert-json", "convert --crds convert-crd.yaml --crds convert-rules.yaml convert-objects.yaml --to v1beta1 -o json"},
		{"convert-none", "convert convert-none.yaml --to v2"},
		{"convert-warnings", "convert convert-warnings.yaml --to v1"},
		{"convert-nulls", "convert convert-nulls.yaml --to v2"},
		{"convert-warnings-json", "convert convert-warnings.yaml --to v1beta1 -o json"},
		{"convert-version", "convert convert-none.yaml --to v3"},
		{"convert-invalid-rules", "convert convert-objects.yaml convert-crd.yaml convert-invalid.yaml --to v1"},
		{"convert-rules-without-crd", "convert --crds convert-rules.yaml convert-objects.yaml --to v1"},
		{"convert-missing", "convert nope.yaml --to v1"},
		{"convert-usage", "convert convert-none.yaml"},
		{"convert-usage-files", "convert --to v1"},
		{"convert-usage-group", "convert convert-none.yaml --to example.com/v1"},
		{"convert-check", "convert --check convert-rules.yaml --crds convert-crd.yaml -n 20"},
		{"convert-check-broken", "convert --check convert-lossy.yaml --crds convert-crd.yaml -n 100"},
		{"convert-check-junit", "convert --check convert-lossy.yaml --crds convert-crd.yaml -n 100 -o junit"},
		{"convert-check-github", "convert --check convert-invalid.yaml --crds convert-crd.yaml -o github"},
		{"convert-usage-output", "convert convert-none.yaml --to v2 -o github"},
		{"convert-check-json", "convert --check convert-lossy.yaml --crds convert-crd.yaml -n 100 -o json"},
		{"convert-check-invalid", "convert --check convert-invalid.yaml --crds convert-crd.yaml"},
		{"convert-check-invalid-json", "convert --check convert-invalid.yaml --crds convert-crd.yaml -o json"},
		{"convert-check-without-crd", "convert --check convert-rules.yaml"},
		{"convert-check-other-crd", "convert --check convert-rules.yaml --crds convert-none.yaml"},
		{"convert-check-without-rules", "convert --check convert-crd.yaml"},
		{"convert-check-missing", "convert --check nope.yaml"},
		{"convert-usage-objects", "convert convert-none.yaml --to v2 -n 20"},
		{"convert-usage-seed", "convert convert-none.yaml --to v2 --seed 2"},
		{"convert-check-usage", "convert --check convert-rules.yaml convert-objects.yaml"},
		{"convert-check-usage-n", "convert --check convert-rules.yaml -n 0"},
		{"convert-check-usage-server", "convert --check convert-rules.yaml --server x:1"},
		{"migrate", "migrate --crds convert-crd.yaml --crds convert-rules.yaml convert-objects.yaml"},
		{"migrate-crd", "migrate --crds convert-none.yaml --crds convert-crd.yaml --crd chairs.example.com convert-none.yaml host.yaml"},
		{"migrate-other-kinds", "migrate --crds convert-none.yaml --skip-other-kinds convert-none.yaml admit-old.yaml"},
		{"migrate-unknown-crd", "migrate --crds convert-none.yaml --crd tables.example.com convert-none.yaml"},
		{"migrate-rejected", "migrate --crds convert-crd.yaml --crds convert-invalid.yaml convert-objects.yaml"},
		{"migrate-rejected-crd", "migrate --crds convert-crd.yaml --crds convert-invalid.yaml --crd lamps.example.com convert-objects.yaml"},
		{"migrate-unrelated", "migrate --crds convert-none.yaml --crds convert-crd.yaml --crds convert-invalid.yaml --crds admit-rejected-crd.yaml --crd chairs.example.com convert-none.yaml"},
		{"migrate-unrelated-kinds", "migrate --crds convert-none.yaml --crds convert-crd.yaml --crds convert-invalid.yaml --crds admit-rejected-crd.yaml convert-none.yaml convert-objects.yaml"},
		{"migrate-missing", "migrate --crds convert-none.yaml nope.yaml"},
		{"migrate-kubeconfig", "migrate --kubeconfig nope --crd chairs.example.com"},
		{"migrate-usage", "migrate"},
		{"migrate-usage-crds", "migrate convert-objects.yaml"},
		{"migrate-state", "migrate --state /nope/state --crds convert-none.yaml convert-none.yaml"},
		{"migrate-state-invalid", "migrate --state convert-crd.yaml --crds convert-none.yaml convert-none.yaml"},
		{"convert-check-unreadable", "convert --check convert-rules.yaml --crds admit-unreadable-crd.yaml"},
		{"migrate-usage-crd", "migrate --kubeconfig nope"},
		{"migrate-usage-write", "migrate --write --crd chairs.example.com --crds convert-none.yaml convert-none.yaml"},
		{"migrate-usage-files", "migrate --context c --crd chairs.example.com convert-none.yaml"},
		{"discover", "discover -o wide admit-crd.yaml buoys.yaml"},
		{"discover-rejected", "discover admit-rejected-crd.yaml"},
		{"openapi-which", "openapi admit-crd.yaml"},
		{"openapi-unserved", "openapi --api-version example.com/v3 admit-crd.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			golden, err := filepath.Abs(filepath.Join("testdata", "golden", tc.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir("testdata")
			if tc.name == "check-conversion-json" { // prints the number
				fewer := testedObjects
				testedObjects = registry.TestedObjects
				defer func() { testedObjects = fewer }()
			}
			code, stdout, stderr := invoke(t, "", strings.Fields(tc.args)...)
			got := fmt.Sprintf("$ crdeval %s\n%s", tc.args, stdout)
			if stderr != "" {
				if command, _, _ := strings.Cut(tc.args, " "); command != "convert" && command != "migrate" {
					stderr = stderr[max(0, strings.LastIndex(stderr, "crdeval:")):]
				}
				got += "stderr: " + strings.TrimRight(stderr, "\n") + "\n"
			}
			got += fmt.Sprintf("exit code %d\n", code)
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || got != string(want) {
				t.Errorf("%v got\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}
