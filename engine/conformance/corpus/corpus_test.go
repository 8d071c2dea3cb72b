package corpus

import "testing"

func TestGlob(t *testing.T) {
	for _, c := range []struct {
		glob, path string
		want       bool
	}{
		{"a/*.yaml", "a/b.yaml", true},
		{"a/*.yaml", "a/b/c.yaml", false},
		{"a/**", "a/b/c.yaml", true},
		{"**/tests/*.*/*.yaml", "x/tests/a.b/c.yaml", true},
		{"**/tests/*.*/*.yaml", "tests/a.b/c.yaml", true},
		{"**/tests/**", "x/nottests/a", false},
	} {
		got := compileGlob(c.glob).MatchString(c.path)
		if got != c.want {
			t.Errorf("%s matches %s: %v", c.glob, c.path, got)
		}
	}
}
