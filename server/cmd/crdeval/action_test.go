package main

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	yaml "go.yaml.in/yaml/v3"
)

var actionFolder = filepath.Join("..", "..", "..", "deploy", "action")

// TestAction runs the scripts of the GitHub action with local repositories.
func TestAction(t *testing.T) {
	folder, err := filepath.Abs(actionFolder)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "action"), UpdateScripts: *updatePages, RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "CHECK="+filepath.Join(folder, "check"), "INSTALL="+filepath.Join(folder, "install"),
				"CRDEVAL=crdeval-process", "BASE=main", "GITHUB_STEP_SUMMARY="+filepath.Join(e.WorkDir, "summary.md"),
				"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
				"GIT_CONFIG_GLOBAL=/dev/null")
			return nil
		},
	})
}

// TestActionDescription: the steps of the action pass each input to a script that reads it.
func TestActionDescription(t *testing.T) {
	var action struct {
		Inputs map[string]struct{ Description, Default string }
		Runs   struct {
			Using string
			Steps []struct {
				Uses, Run, Shell string
				Env              map[string]string
			}
		}
	}
	decode(t, filepath.Join(actionFolder, "action.yml"), &action)
	passed := map[string]bool{}
	for _, step := range action.Runs.Steps {
		if step.Run == "" {
			continue
		}
		name := regexp.MustCompile(`^"\$GITHUB_ACTION_PATH/(\w+)"`).FindStringSubmatch(step.Run)
		if name == nil || step.Shell != "bash" {
			t.Fatalf("the step %q runs no script", step.Run)
		}
		info, err := os.Stat(filepath.Join(actionFolder, name[1]))
		if err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable: %v", name[1], err)
		}
		script, err := os.ReadFile(filepath.Join(actionFolder, name[1]))
		if err != nil {
			t.Fatal(err)
		}
		for variable, value := range step.Env {
			if !strings.Contains(string(script), "${"+variable+":-") {
				t.Errorf("%s does not read %s", name[1], variable)
			}
			for _, m := range regexp.MustCompile(`\$\{\{ inputs\.(\w+) \}\}`).FindAllStringSubmatch(value, -1) {
				passed[m[1]] = true
			}
		}
	}
	for name, input := range action.Inputs {
		if !passed[name] || input.Description == "" {
			t.Errorf("the input %s is not passed to a script, or not described", name)
		}
	}
	if len(passed) != len(action.Inputs) || action.Runs.Using != "composite" {
		t.Errorf("%v are passed", passed)
	}
}

// TestHooks runs the hooks of pre-commit with files.
func TestHooks(t *testing.T) {
	var hooks []struct {
		ID, Entry, Language string
		RequireSerial       bool `yaml:"require_serial"`
	}
	decode(t, filepath.Join("..", "..", "..", ".pre-commit-hooks.yaml"), &hooks)
	t.Chdir("testdata")
	codes := map[string][]int{}
	for _, hook := range hooks {
		program, arguments, _ := strings.Cut(hook.Entry, " ")
		if program != "crdeval" || hook.Language != "golang" || !hook.RequireSerial {
			t.Errorf("%+v", hook)
		}
		for _, files := range []string{"admit-crd.yaml admit-old.yaml", "admit-rejected-crd.yaml", "absent.yaml", "admit-old.yaml"} {
			code, _, _ := invoke(t, "", append(strings.Fields(arguments), strings.Fields(files)...)...)
			codes[hook.ID] = append(codes[hook.ID], code)
		}
	}
	want := map[string][]int{
		"crdeval-admit": {exitRejected, exitRejected, exitError, exitRejected},
		"crdeval-check": {0, exitRejected, exitError, 0}, // the last file has no CRD
	}
	if !reflect.DeepEqual(codes, want) {
		t.Errorf("the exit codes are %v", codes)
	}
}

func decode(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
