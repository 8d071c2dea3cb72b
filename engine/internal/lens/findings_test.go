package lens

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// A violation shows the beginning of a long expression, and not all of it several times.
func TestLongExpression(t *testing.T) {
	text, err := os.ReadFile("testdata/cel.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f testFile
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	long := "self.host" + strings.Repeat(" + self.port", 100)
	rules := `{crd: x.example.com, between: [v1, v1beta1], rules: [cel: {to: hostPort, expr: "` + long + `"}]}`
	_, found := compileTest(t, &f, rules)
	if len(found) != 1 {
		t.Fatal(found)
	}
	shown := found[0].Error.Error()
	const cause = "1:11: found no matching overload"
	if len(shown) > 1300 || !strings.Contains(shown, long[:100]) || !strings.Contains(shown, cause) {
		t.Errorf("%d bytes: %.2000s", len(shown), shown)
	}
}
