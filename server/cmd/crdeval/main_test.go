package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"
	"go.uber.org/goleak"
)

// TestMain runs the tests, or the command if a script started this binary as crdeval-process.
func TestMain(m *testing.M) {
	testedObjects = 20
	testscript.Main(leakChecked{m}, map[string]func(){"crdeval-process": main, "kubectl-crdeval": main})
}

// leakChecked fails if the tests leave goroutines.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

const good = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: goods, kind: Good}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

// bad has a violation on line 8.
const bad = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bads.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: bads, kind: Bad}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: string}}}]
`

// invoke runs a command as main does.
func invoke(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, environment{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs})
	return code, out.String(), errs.String()
}

func file(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crds.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// list has both as a List, as printed by kubectl get.
var list = "apiVersion: v1\nkind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(good), "\n", "\n  ") + "\n- " + strings.ReplaceAll(strings.TrimSpace(bad), "\n", "\n  ") + "\n"

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		name, content  string
		args           []string
		code           int
		stdout, stderr string // parts; FILE stands for the file's name
	}{
		{"accepted", good, nil, 0, "FILE: goods.example.com: accepted\n", ""},
		{"rejected", bad, nil, exitRejected, "FILE: bads.example.com: rejected\n  FILE:8:", ""},
		{"the violation", bad, nil, exitRejected, `openAPIV3Schema.type: Invalid value: "string": must be object at the root`, ""},
		{"several documents", "# a list\n---\n" + good + "---\n" + bad, nil, exitRejected, "FILE[2]: bads.example.com: rejected\n  FILE:19:", ""},
		{"JSON", `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"goods.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"goods","kind":"Good"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, nil, 0, "accepted", ""},
		{"no CRD", "apiVersion: v1\nkind: Pod\n", nil, exitError, "FILE:1: error: the document is a Pod (v1), not a CustomResourceDefinition", "1 document could not be checked"},
		{"no apiVersion", "kind: Pod\n", nil, exitError, "FILE:1: error: the document is a Pod (without apiVersion), not a CustomResourceDefinition", ""},
		{"no object", good + "---\n- 1\n", nil, exitError, "FILE:10: error: the document has no apiVersion and no kind: add apiVersion apiextensions.k8s.io/v1", ""},
		{"too large", good + "# " + strings.Repeat("x", 3<<20) + "\n", nil, exitError, "bytes: send a smaller document (the limit of commands is fixed)\n", ""},
		{"other documents are still checked", "apiVersion: v1\nkind: Pod\n---\n" + good, nil, exitError, "goods.example.com: accepted", "could not be checked"},
		{"other documents are not counted as CRDs", "apiVersion: v1\nkind: Pod\n---\na: 1\n---\n" + good, nil, exitError, "1 CRD: 1 accepted, 0 rejected, 2 other documents\n", "2 documents could not be checked"},
		{"broken YAML", "a: [\n", nil, exitError, "FILE:", "1 document"},
		{"broken YAML further down", good + "---\n# more\na: {b: 1\nc: d\n", nil, exitError, "FILE:11:1: error: invalid YAML: ", ""},
		{"other kinds are skipped", "apiVersion: v1\nkind: Pod\n---\n" + good, []string{"--skip-other-kinds"}, 0, "goods.example.com: accepted", ""},
		{"only other kinds", "apiVersion: v1\nkind: Pod\n", []string{"--skip-other-kinds"}, exitError, "0 CRDs: 0 accepted, 0 rejected\nskipped 1 document: 1 Pod\n", "nothing was evaluated"},
		{"skipped documents", "apiVersion: v1\nkind: Pod\n", []string{"--skip-other-kinds", "-v", "--allow-empty"}, 0, "FILE: skipped: the document is a Pod (v1)", ""},
		{"values", "image: {tag: x}\n", []string{"--skip-other-kinds", "--allow-empty"}, 0, "skipped 1 document: 1 without kind\n", ""},
		{"a wrong kind", strings.Replace(good, "CustomResourceDefinition", "CustomResourcedefinition", 1), []string{"--skip-other-kinds"}, exitError, "did you mean CustomResourceDefinition?", ""},
		{"a list", "---\n" + list, nil, exitRejected, "FILE[1].items[0]: goods.example.com: accepted\n  v1: served, storage\nFILE[1].items[1]: bads.example.com: rejected\n  FILE:20:", ""},
		{"without a name", strings.Replace(bad, "{name: bads.example.com}", "{}", 1), nil, exitRejected, "FILE: rejected\n", ""},
		{"empty", "\n", nil, exitError, "0 CRDs: 0 accepted, 0 rejected\n",
			"nothing was evaluated: the files have no CRD and no conversion rules (--allow-empty: this is no error)\n"},
		{"allowed to be empty", "\n", []string{"--allow-empty"}, 0, "0 CRDs: 0 accepted, 0 rejected\n", ""},
		{"comments", "# a\n---\n# b\n", nil, exitError, "", "nothing was evaluated"},
		{"null", "null\n", nil, exitError, "", "nothing was evaluated"},
		{"an empty list", "apiVersion: v1\nkind: List\nitems: []\n", nil, exitError, "", "nothing was evaluated"},
		{"not decodable", strings.Replace(good, "served: true", "served: 1", 1), nil, exitRejected, "FILE: goods.example.com: rejected\n  FILE:8:33: spec.versions[0].served: must be a boolean, not an integer\n", ""},
		{"the same as JSON", strings.Replace(good, "served: true", "served: 1", 1), []string{"-o", "json"}, exitRejected, `"rejection":{"code":400,"reason":"BadRequest","message":"`, ""},
		{"JSON output", good, []string{"-o", "json"}, 0, `"name":"goods.example.com","accepted":true,"report":{"violations":[],"warnings":[]`, ""},
		{"an unknown version", good, []string{"--kubernetes", "1.3"}, exitError, "", `--kubernetes: "1.3" is not a supported version of Kubernetes: use 1.25 to 1.37`},
		{"an older version", good, []string{"--kubernetes", "1.33"}, 0, "accepted", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := file(t, tc.content)
			code, stdout, stderr := invoke(t, "", append(append([]string{"check"}, tc.args...), path)...)
			if code != tc.code || !strings.Contains(stdout, strings.ReplaceAll(tc.stdout, "FILE", path)) || !strings.Contains(stderr, tc.stderr) {
				t.Errorf("exit code %d\nstdout: %s\nstderr: %s", code, stdout, stderr)
			}
		})
	}
	if code, stdout, _ := invoke(t, good, "check", "-"); code != 0 || !strings.Contains(stdout, "-: goods.example.com: accepted") {
		t.Errorf("stdin: %d %s", code, stdout)
	}
	path := file(t, good)
	if code, stdout, _ := invoke(t, "", "check", "/does/not/exist", path); code != exitError || !strings.Contains(stdout, "/does/not/exist: error: ") || !strings.Contains(stdout, path+": goods.example.com: accepted") {
		t.Errorf("a missing file, and one that is there: %d %s", code, stdout)
	}
}

// A directory means its manifest files, without those of its subdirectories.
func TestDirectories(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"b.yml": good, "a.yaml": bad, "c.json": "{", "notes.txt": bad, "deeper/d.yaml": bad, "e.yaml/f.yaml": bad,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, _ := invoke(t, "", "check", dir)
	if code != exitError || strings.Count(stdout, "bads.example.com: ") != 1 || !strings.Contains(stdout, filepath.Join(dir, "b.yml")+": goods.example.com: accepted") ||
		!strings.Contains(stdout, filepath.Join(dir, "c.json")) {
		t.Errorf("%d %s", code, stdout)
	}
	if code, _, stderr := invoke(t, "", "diff", dir, dir); code != exitError || !strings.Contains(stderr, filepath.Join(dir, "c.json")) {
		t.Errorf("%d %s", code, stderr)
	}
	for _, name := range []string{"a.yaml", "c.json"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(strings.ReplaceAll(strings.ReplaceAll(good, "goods", "bests"), "Good", "Best")), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := invoke(t, "", "diff", dir, dir); code != 0 || stdout != "bests.example.com: identical\ngoods.example.com: identical\n" {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
	if code, stdout, _ := invoke(t, "", "check", filepath.Join(dir, "e.yaml", "..", "deeper", "..", "..")); code != exitError || !strings.Contains(stdout, "the directory has no .yaml, .yml or .json file") {
		t.Errorf("%d %s", code, stdout)
	}
}

func TestCheckJSONIsOneObjectALine(t *testing.T) {
	_, stdout, _ := invoke(t, "", "check", "-o", "json", file(t, good+"---\n"+bad))
	var got []crdLine
	for line := range strings.Lines(stdout) {
		var j crdLine
		if err := json.Unmarshal([]byte(line), &j); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		got = append(got, j)
	}
	if len(got) != 3 || !got[0].Accepted || got[0].Report.Rejection.Code != 0 || got[1].Accepted || got[1].Document != 2 || len(got[1].Report.Violations) == 0 ||
		got[1].Report.Rejection.Code != http.StatusUnprocessableEntity {
		t.Fatalf("%+v", got)
	}
	v := got[1].Report.Violations[0]
	if v.Position.Line != 17 || v.Detail == "" || !strings.HasPrefix((good + "---\n" + bad)[v.Position.Offset:], "string}") {
		t.Errorf("%+v at %+v", v, v.Position)
	}
}

// crdLine is a line of check -o json.
type crdLine struct {
	Document int
	Accepted bool
	Report   struct {
		Rejection  struct{ Code int }
		Violations []struct {
			Detail   string
			Position struct {
				Line   int
				Offset int
			}
		}
		Versions []struct {
			LowestKubernetes string
			Rules            []struct {
				ShareOfLimit float64
				Culprits     []any
			}
		}
	}
}

func TestUsage(t *testing.T) {
	empty := file(t, "# a comment\n---\n")
	for _, tc := range []struct {
		args   []string
		code   int
		output string
	}{
		{[]string{"--help"}, 0, "healthcheck"},
		{[]string{"serve", "--help"}, 0, "--cache-bytes"},
		{[]string{"version"}, 0, "crdeval devel ("},
		{nil, 0, "healthcheck"},
		{[]string{"--version"}, 0, "crdeval devel ("},
		{[]string{"nonsense"}, exitError, "crdeval: unknown command nonsense\nRun \"crdeval --help\" for usage.\n"},
		{[]string{"help"}, 0, "healthcheck"},
		{[]string{"playground", "--address=x"}, exitError, "--address: \"x\" is not host:port: browsers cannot open other addresses\n"},
		{[]string{"help", "check"}, 0, "Usage:\n  crdeval check FILE... [flags]\n"},
		{[]string{"admit", "-f", "x"}, exitError, "crdeval: unknown flag -f\n"},
		{[]string{"check", "-o"}, exitError, "crdeval: --output has no value: use text, json, junit, sarif or github\n"},
		{[]string{"check", "x", "--old"}, exitError, "crdeval: --old has no value\n"},
		{[]string{"check", "-o=yaml", "x"}, exitError, "crdeval: --output: \"yaml\" is not text, json, junit, sarif or github\n"},
		{[]string{"admti"}, exitError, "unknown command admti, did you mean \"admit\"?\nRun \"crdeval --help\" for usage.\n"},
		{[]string{"help", "admti"}, exitError, `did you mean "admit"?`},
		{[]string{"completion", "bsh"}, exitError, "did you mean \"bash\" or \"zsh\" or \"fish\"?\nRun \"crdeval completion --help\" for usage.\n"},
		{[]string{"admit", "--watch=x", "x"}, exitError, "crdeval: --watch: \"x\" is not true or false\n"},
		{[]string{"admit", "--patch={}", "--patch-file=x", "x"}, exitError, "crdeval: --patch and --patch-file cannot be used together\n"},
		{[]string{"crds", "pul"}, exitError, "crdeval: ACTION: \"pul\" is not pull or list\n"},
		{[]string{"man", "x"}, exitError, "crdeval: there is no command x\n"},
		{[]string{"admit", "--item-timeout=x", "f"}, exitError, "--item-timeout: \"x\" is not a duration: use numbers with units, such as 500ms, 20s or 1m30s\nRun \"crdeval admit --help\" for usage.\n"},
		{[]string{"admit", "--skip-other-kind", "x"}, exitError, "did you mean \"--skip-other-kinds\"?\nRun \"crdeval admit --help\" for usage.\n"},
		{[]string{"generate", "--help"}, 0, "--invalid N "},
		{[]string{"generate", "--crds=x", "--seed", "-1"}, exitError, "crdeval: --seed: \"-1\" is not a whole number of 0 or more\n"},
		{[]string{"generate", "--crds=x", "--valid", "10001"}, exitError,
			"crdeval: --valid and --invalid must be from 0 to 10000\n"},
		{[]string{"generate", "--crds=x", "--valid", "-1"}, exitError,
			"crdeval: --valid and --invalid must be from 0 to 10000\n"},
		{[]string{"admit", "--crds", "--old", "x"}, exitError, "--crds has no value: --old is a flag\n"},
		{[]string{"check", "--config=absent", "x"}, exitError, "crdeval: --config: open absent: no such file or directory\n"},
		{[]string{"check", "testdata/absent.yaml"}, exitError, "0 CRDs: 0 accepted, 0 rejected\nunreadable: 1 file\n"},
		{[]string{"check", "testdata/absent.yaml"}, exitError, "crdeval: 1 file could not be read\n"},
		{[]string{"test", file(t, "a: 1\nb: [\n")}, exitError, ":2: error: did not find expected node content\n"},
		{[]string{"test", file(t, "a: 1\n")}, exitError, "a document is not a suite"},
		{[]string{"serve", "--max-batch-items=0", "--max-in-flight=-1"}, exitError, "--max-in-flight"},
		{[]string{"serve", "--store=etcd"}, exitError, "--etcd-endpoints"},
		{[]string{"serve", "--store=memory", "--data-dir=x", "--crds=absent"}, exitError,
			`msg="--data-dir has no effect: it needs --store=bolt" store=memory`},
		{[]string{"check", "--server=a", "x"}, exitError, "crdeval: the address \"a\" is not HOST:PORT"},
		{[]string{"check", "--server=a.example:1", "--token=x", "x"}, exitError, "in plain text: use --tls or --tls-ca\n"},
		{[]string{"explain", "--crds=x", ""}, exitError, "crdeval: the argument TYPE is empty: TYPE[.FIELD]...: a resource or a field"},
		{[]string{"explain", "x", "y"}, exitError, "crdeval: unexpected argument y: use --crds for files with CRDs\n"},
		{[]string{"generate", "y"}, exitError, "crdeval: unexpected argument y: use --crds for files with CRDs\n"},
		{[]string{"check", ""}, exitError, "crdeval: the argument FILE is empty: files or directories with CRDs; - for stdin\n"},
		{[]string{"diff"}, exitError, "crdeval: the argument FILE is missing: OLD and NEW: files"},
		{[]string{"diff", "x", ""}, exitError, "crdeval: the argument FILE is empty: OLD and NEW: files"},
		{[]string{"migrate", "--crds=testdata/admit-crd.yaml", ""}, exitError, "crdeval: the argument FILE is empty: files"},
		{[]string{"test", ""}, exitError, "crdeval: the argument FILE is empty: files"},
		{[]string{"test", file(t, "\n")}, exitError, ": error: the file is empty\n"},
		{[]string{"admit", "--subresource=x", "x"}, exitError, "--subresource: \"x\" is not status or scale\n"},
		{[]string{"serve", "--auth-token-file="}, exitError, "crdeval: --auth-token-file is empty: give a value, or leave it out\n"},
		{[]string{"check", "--skip-kind", "", "x"}, exitError, "crdeval: --skip-kind is empty: give a value, or leave it out\n"},
		{[]string{"check", "--skip-kind=Pod,,Job", "x"}, exitError, "crdeval: --skip-kind is empty"},
		{[]string{"admit", "--crds=", "x"}, exitError, "crdeval: --crds is empty"},
		{[]string{"admit", "-p", "", "x"}, exitError, "crdeval: --patch is empty"},
		{[]string{"admit", "-p", "# none", "testdata/admit-old.yaml"}, exitError, "crdeval: --patch: the patch is empty\n"},
		{[]string{"admit", "--patch-file", empty, "testdata/admit-old.yaml"}, exitError, empty + ": the patch is empty\n"},
		{[]string{"admit", "--patch-file=testdata", "testdata/admit-old.yaml"}, exitError,
			"crdeval: --patch-file: testdata: it is a directory, not a file\n"},
		{[]string{"check", "--config=testdata", "x"}, exitError, "testdata: is a directory\n"},
		{[]string{"check", "--summary=testdata", "testdata/admit-crd.yaml"}, exitError, "testdata: is a directory\n"},
		{[]string{"check", "--server=localhost:1", "--tls-ca=testdata", "x"}, exitError, "testdata: is a directory\n"},
		{[]string{"migrate", "--crds=testdata/admit-crd.yaml", "--state=testdata", "x"}, exitError, "testdata: is a directory\n"},
		{[]string{"serve", "--log-level=loud"}, exitError, "--log-level: \"loud\" is not debug, info, warn or error\n"},
		{[]string{"diff", "testdata/admit-crd.yaml", "testdata/admit-crd.yaml", "--objects", file(t, "\n")}, 0,
			" has no object: nothing is replayed\n"},
	} {
		code, stdout, stderr := invoke(t, "", tc.args...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.output) {
			t.Errorf("%v: exit code %d\nstdout: %s\nstderr: %s", tc.args, code, stdout, stderr)
		}
	}
}

// TestHelp tests that the help of each command describes it, each argument and flag, with an example.
func TestHelp(t *testing.T) {
	for _, c := range newRoot(&invocation{}).Commands() {
		code, help, stderr := invoke(t, "", c.Name(), "--help")
		if code != 0 || stderr != "" || !strings.Contains(help, "\nUsage:\n  "+c.UseLine()) || !strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: %d %s\n%s", c.Name(), code, stderr, help)
		}
		if takesNothing := c.Name() == "lsp" || c.Name() == "version"; !takesNothing && !strings.Contains(help, "\nExamples:\n  ") {
			t.Errorf("%s has no example:\n%s", c.Name(), help)
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.Contains(help, "--"+f.Name) == f.Hidden || f.Usage == "" || !strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: --%s is hidden (%v), or its description is no sentence: %s", c.Name(), f.Name, f.Hidden, f.Usage)
			}
		})
		for line := range strings.Lines(help) {
			if column := len([]rune(line)); column > 90 && !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: a line has %d columns: %s", c.Name(), column, line)
			}
		}
	}
}

// TestVariablesOfOtherCommands tests that a command ignores invalid variables of flags that it does not have.
func TestVariablesOfOtherCommands(t *testing.T) {
	t.Setenv("CRDEVAL_ITEM_TIMEOUT", "long")
	if code, _, stderr := invoke(t, "", "version"); code != 0 {
		t.Error(code, stderr)
	}
	if code, _, stderr := invoke(t, "", "admit", "x"); code != exitError || !strings.Contains(stderr, "--item-timeout") {
		t.Error(code, stderr)
	}
}

func TestServeAndHealthcheck(t *testing.T) {
	t.Setenv("CRDEVAL_CACHE_BITES", "1GiB")
	t.Setenv("CRDEVAL_CACHE_BYTES", "1GiB")
	socket := "unix://" + filepath.Join(t.TempDir(), "s")
	if code, _, stderr := invoke(t, "", "healthcheck", "--grpc-address", socket, "--timeout=100ms"); code != exitRejected || !strings.HasPrefix(stderr, socket+": ") {
		t.Errorf("no server: %d %s", code, stderr)
	}
	stop := serveAt(t, socket, "--log-format=json")
	if code, stdout, stderr := invoke(t, "", "healthcheck", "--grpc-address", socket, "--timeout=1h"); code != 0 || stdout != "SERVING\n" {
		t.Errorf("%d %s %s", code, stdout, stderr)
	}
	code, log := stop()
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, log)
	}
	unknown := func(name string) bool { // make e2e sets other variables that the program does not know
		return strings.Contains(log, fmt.Sprintf(`"unknown variable ignored: see crdeval serve --help","variable":%q`, name))
	}
	if !unknown("CRDEVAL_CACHE_BITES") || unknown("CRDEVAL_CACHE_BYTES") {
		t.Errorf("the warnings of misspelt variables are wrong:\n%s", log)
	}
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a log line is not JSON: %s", line)
		}
	}
}

func TestHealthcheckOptions(t *testing.T) {
	for address, want := range map[string]string{
		":9090": "localhost:9090", "0.0.0.0:1": "localhost:1", "[::]:2": "localhost:2", "10.0.0.1:3": "10.0.0.1:3", "unix:///x": "unix:///x", "name:4": "name:4",
	} {
		if got := dialTarget(address); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
	empty := file(t, "")
	for _, args := range [][]string{
		{"--tls-server-name=x"}, {"--tls-ca=/missing"}, {"--tls-ca=" + empty}, {"--grpc-address="},
	} {
		if code, _, stderr := invoke(t, "", append([]string{"healthcheck", "--timeout=" + time.Millisecond.String()}, args...)...); code != exitError || stderr == "" {
			t.Errorf("%v: %d %s", args, code, stderr)
		}
	}
}

// costly has a rule over an unbounded list.
const costly = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: costlies.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: costlies, kind: Costly}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {l: {type: array, items: {type: integer}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x + y > 0))"}]}}
`

// TestCheckCosts: for a CRD whose rules are too costly, the command suggests bounds with which it is accepted.
func TestCheckCosts(t *testing.T) {
	code, out, errs := invoke(t, costly, "check", "-")
	const fit = "v1 /properties/l/x-kubernetes-validations/0 would be within its limit with "
	_, bounds, found := strings.Cut(out, fit)
	bound, _, _ := strings.Cut(bounds, " at /properties/l\n")
	if code != 1 || !found || !strings.HasPrefix(bound, "maxItems: ") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	bounded := strings.Replace(costly, "type: array", "type: array, "+bound, 1)
	if code, out, errs = invoke(t, bounded, "check", "-"); code != 0 || strings.Contains(out, "would be within") {
		t.Errorf("with %s: %d %s %s", bound, code, out, errs)
	}
	code, out, errs = invoke(t, costly, "check", "-o", "json", "-")
	var j crdLine
	if err := json.NewDecoder(strings.NewReader(out)).Decode(&j); code != 1 || err != nil || len(j.Report.Versions) != 1 || len(j.Report.Versions[0].Rules) != 1 ||
		j.Report.Versions[0].Rules[0].ShareOfLimit <= 1 || len(j.Report.Versions[0].Rules[0].Culprits) != 1 || j.Report.Versions[0].LowestKubernetes != "1.25" {
		t.Errorf("%d %v %s %s", code, err, out, errs)
	}
}

// TestCheckCostsWithoutBounds: for a text of unknown length, the command explains that no bound helps.
func TestCheckCostsWithoutBounds(t *testing.T) {
	manifest := strings.Replace(costly, "{l: {type: array, items: {type: integer}, x-kubernetes-validations: [{rule: \"self.all(x, self.all(y, x + y > 0))\"}]}}",
		"{size: {type: integer, x-kubernetes-validations: [{rule: self > 0, messageExpression: \"'it is ' + string(self)\"}, {rule: self > 1}]}}", 1)
	code, out, errs := invoke(t, manifest, "check", "-")
	if code != 1 || strings.Count(out, "is over its limit with any bound in the schema") != 1 || !strings.Contains(out, "v1 /properties/size/x-kubernetes-validations/0 is over its limit") {
		t.Fatalf("%d %s %s", code, out, errs)
	}
}
