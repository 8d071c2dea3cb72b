package lsp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// git runs a git command in a repository, without the configuration of the user.
func git(t *testing.T, root string, arguments ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com"}, arguments...)...)
	c.Dir, c.Env = root, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v: %s", arguments, err, out)
	}
}

const rulesCRD = `apiVersion: apiextensions.k8s.io/v1
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
          spec:
            type: object
            properties:
              replicas: {type: integer, maximum: 10}
              size: {type: integer, x-kubernetes-validations: [{rule: self >= oldSelf, message: it cannot shrink}]}
`

// TestOldObjects checks which objects are updates of objects in HEAD, and when the server reads HEAD again.
func TestOldObjects(t *testing.T) {
	const old = "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: a}\nspec:\n  replicas: 20\n  size: 5\n"
	root := workspaceWith(t, map[string]string{"crd.yaml": rulesCRD, "dir/a.yaml": old, "b.yaml": old})
	git(t, root, "init", "-q")
	git(t, root, "add", "crd.yaml", "dir/a.yaml")
	git(t, root, "commit", "-q", "-m", "a")
	shrunk := strings.Replace(old, "size: 5", "size: 4", 1)
	const maximum, shrinks = "less than or equal to 10", "it cannot shrink"
	check := func(c *client, name string, want ...string) {
		t.Helper()
		var got []string
		for _, d := range c.diagnostics(name) {
			for _, text := range []string{maximum, shrinks} {
				if strings.Contains(d.Message, text) {
					if d.Severity == severityInformation {
						text = "ratcheted: " + text
					}
					got = append(got, text)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	c := connectWith(t, root, Options{}, map[string]any{"oldObjects": "git"})
	c.open("dir/a.yaml", shrunk)
	check(c, "dir/a.yaml", "ratcheted: "+maximum, shrinks)
	c.open("b.yaml", shrunk) // not in HEAD
	check(c, "b.yaml", maximum)
	c.change("dir/a.yaml", "name: a", "name: c") // another object
	check(c, "dir/a.yaml", maximum)
	c.change("dir/a.yaml", "name: c", "name: a")
	check(c, "dir/a.yaml", "ratcheted: "+maximum, shrinks)

	if err := os.WriteFile(filepath.Join(root, "dir/a.yaml"), []byte(shrunk), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, root, "commit", "-q", "-a", "-m", "b")
	c.mu.Lock()
	clear(c.published)
	c.mu.Unlock()
	c.notify("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": c.uri("dir/a.yaml")}})
	check(c, "dir/a.yaml", "ratcheted: "+maximum)
	if err := c.end(); err != nil || c.log.Len() > 0 {
		t.Error(err, c.log)
	}

	for name, option := range map[string]any{"none": map[string]any{"oldObjects": "none"}, "another type": "git",
		"not set": nil} {
		c = connectWith(t, root, Options{}, option)
		c.open("dir/a.yaml", shrunk)
		check(c, "dir/a.yaml", maximum)
		if err := c.end(); err != nil {
			t.Error(name, err)
		}
	}
	c = start(t, root, Options{})
	expect(c, c.request("initialize", map[string]any{"initializationOptions": map[string]any{"oldObjects": "svn"}}),
		codeRequestFailed)
	c.notify("exit", nil)
	if err := c.result(); err == nil {
		t.Error("no error")
	}
}

// TestInvalidOldObject checks that an object is a creation if its stored object is unreadable or invalid.
func TestInvalidOldObject(t *testing.T) {
	for name, old := range map[string]string{
		"not YAML": "a: [\n", "another version": strings.Replace(object, "/v1", "/v9", 1), "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			root := workspaceWith(t, map[string]string{"crd.yaml": crd, "a.yaml": old})
			git(t, root, "init", "-q")
			git(t, root, "add", "a.yaml")
			git(t, root, "commit", "-q", "-m", "a")
			c := connectWith(t, root, Options{}, map[string]any{"oldObjects": "git"})
			c.open("a.yaml", object)
			list := c.diagnostics("a.yaml")
			if len(list) != 1 || !strings.Contains(list[0].Message, "must be of type integer") {
				t.Errorf("%+v", list)
			}
			if err := c.end(); err != nil || c.log.Len() > 0 {
				t.Error(err, c.log)
			}
		})
	}
}
