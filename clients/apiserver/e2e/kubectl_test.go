package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// TestMain makes kubectl a command of the scripts: a copy of the test's binary that runs kubectl's main function. etcd is
// a process of TestKills.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kubectl": kubectl, "etcd": etcd})
}

func kubectl() {
	command := cmd.NewDefaultKubectlCommand()
	if err := cli.RunNoErrOutput(command); err != nil {
		cmdutil.CheckErr(err)
	}
}

// TestPages runs the kubectl commands of the Kubernetes pages about CustomResourceDefinitions, page by page.
func TestPages(t *testing.T) {
	for _, page := range []string{"custom-resource-definitions", "custom-resource-definition-versioning"} {
		t.Run(page, func(t *testing.T) { runScripts(t, page) })
	}
}

// TestKubectl runs further commands of kubectl.
func TestKubectl(t *testing.T) { runScripts(t, "kubectl") }

// runScripts runs the scripts of a folder in testdata, each with a server of its own.
func runScripts(t *testing.T, folder string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", folder),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"shows": shows, "served": served, "expand": expand},
		Setup: func(env *testscript.Env) error {
			t := env.T().(testing.TB)
			evaluator, err := startEvaluator(t)
			if err != nil {
				return err
			}
			kubeconfig := filepath.Join(env.WorkDir, ".kubeconfig")
			config, err := startServer(t, evaluator, kubeconfig)
			if err != nil {
				return err
			}
			env.Values[configKey{}] = config
			env.Setenv("KUBECONFIG", kubeconfig)
			env.Setenv("KUBECACHEDIR", filepath.Join(env.WorkDir, ".cache"))
			env.Setenv("HOME", env.WorkDir)
			startWebhook(env)
			return nil
		},
	})
}

// configKey is the key of the configuration of a client in the values of a script.
type configKey struct{}

// expand replaces $NAME and ${NAME} in a file by variables of the environment.
func expand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: expand FILE")
	}
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// shows compares the standard output of the last command, or with -stderr its errors, with a file. What differs between
// runs is replaced in both.
func shows(ts *testscript.TestScript, neg bool, args []string) {
	from := "stdout"
	if len(args) > 0 && args[0] == "-stderr" {
		from, args = "stderr", args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: shows [-stderr] FILE")
	}
	got, want := normalize(ts.ReadFile(from)), normalize(ts.ReadFile(args[0]))
	if got != want {
		ts.Fatalf("%s differs from %s:\n%s\nwant:\n%s", from, args[0], got, want)
	}
}

// variable are the parts of outputs that differ between runs.
var variable = []struct {
	part *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`resourceVersion: "?\d+"?`), "resourceVersion: N"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`(?m)\b\d+(s|m|m\d+s)$`), "AGE"},
	{regexp.MustCompile(` +(\n|$)`), "$1"},
}

func normalize(text string) string {
	for _, v := range variable {
		text = v.part.ReplaceAllString(text, v.with)
	}
	return strings.TrimRight(text, "\n") + "\n"
}
