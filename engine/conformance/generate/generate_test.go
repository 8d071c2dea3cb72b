package generate

import (
	"bytes"
	"encoding/json"
	"regexp"
	"testing"
)

var generators = map[string]func(r Rand, n int) Group{
	"random":      func(r Rand, _ int) Group { return Random(r) },
	"pairwise":    Pairwise,
	"edges":       func(r Rand, _ int) Group { return Edges(r) },
	"formats":     FormatGroup,
	"metadata":    func(r Rand, _ int) Group { return Metadata(r) },
	"rules":       func(r Rand, _ int) Group { return Rules(r) },
	"limits":      func(r Rand, _ int) Group { return Limits(r) },
	"updates":     func(r Rand, _ int) Group { return Updates(r) },
	"expressions": func(r Rand, _ int) Group { return Expressions(r) },
	"form":        func(r Rand, _ int) Group { return Form(r) },
	"broken":      func(r Rand, _ int) Group { return Broken(r) },
	"yaml":        func(r Rand, _ int) Group { return YAMLSyntax(r) },
	"patches":     func(r Rand, _ int) Group { return PatchSyntax(r) },
}

// TestDeterministic generates each group twice: a seed and a number must identify a disagreement.
func TestDeterministic(t *testing.T) {
	for name, g := range generators {
		for n := range 60 {
			a, b := g(New(name, 1, uint64(n)), n), g(New(name, 1, uint64(n)), n)
			if !bytes.Equal(a.CRD, b.CRD) || len(a.Objects) != len(b.Objects) {
				t.Fatalf("%s %d: two definitions", name, n)
			}
			for i := range a.Objects {
				if !bytes.Equal(a.Objects[i].Body, b.Objects[i].Body) || !bytes.Equal(a.Objects[i].Old, b.Objects[i].Old) {
					t.Fatalf("%s %d: two objects %d\n%s\n%s", name, n, i, a.Objects[i].Body, b.Objects[i].Body)
				}
			}
			if name != "form" && !json.Valid(a.CRD) {
				t.Errorf("%s %d: %s", name, n, a.CRD)
			}
		}
	}
}

func TestPatterns(t *testing.T) {
	for _, p := range Patterns {
		re := regexp.MustCompile(p.Re)
		for _, s := range p.Good {
			if !re.MatchString(s) {
				t.Errorf("%s does not match %q", p.Re, s)
			}
		}
		for _, s := range p.Bad {
			if re.MatchString(s) {
				t.Errorf("%s matches %q", p.Re, s)
			}
		}
	}
	for _, p := range badPatterns {
		if _, err := regexp.Compile(p); err == nil {
			t.Errorf("%s is a pattern", p)
		}
	}
}

func TestTables(t *testing.T) {
	for _, literals := range [][]string{Numbers} {
		for _, l := range literals {
			if !json.Valid([]byte(l)) {
				t.Errorf("%s is no JSON: it belongs among the rare ones", l)
			}
		}
	}
	for name, values := range metadataFields {
		for _, v := range values {
			if !json.Valid([]byte(v)) {
				t.Errorf("%s: %.60s is no JSON", name, v)
			}
		}
	}
	if len(metadataNames) != len(metadataFields) {
		t.Errorf("%d names, %d fields", len(metadataNames), len(metadataFields))
	}
}

func TestSample(t *testing.T) {
	for _, p := range []string{`^[a-z]{2,4}-\d+$`, `^(a|b)c?$`, `^[^\x00]{1,3}$`} {
		for n := range 50 {
			s, ok := sample(New("sample", 1, uint64(n)), p)
			if !ok || !regexp.MustCompile(p).MatchString(s) {
				t.Errorf("%s: %q", p, s)
			}
		}
	}
}
