package main

import (
	"io"
	"slices"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	const list = "3 tests\nfail TestB/sub feature X is off\nskip TestC needs Y\n"
	const run = `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p","Test":"TestB/sub"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}
`
	for _, c := range []struct {
		name, from, to string // replaced in the run
		want           []string
	}{
		{"as listed", "", "", nil},
		{"a failure", `"pass","Package":"p","Test":"TestA"`, `"fail","Package":"p","Test":"TestA"`, []string{"TestA: fail, without an exception"}},
		{"a skipped test", `"pass","Package":"p","Test":"TestA"`, `"skip","Package":"p","Test":"TestA"`, []string{"TestA: skip, without an exception"}},
		{"a listed test passes", `"skip","Package":"p","Test":"TestC"`, `"pass","Package":"p","Test":"TestC"`, []string{"TestC: pass, but the list says skip"}},
		{"a test more", `{"Action":"pass","Package":"p","Test":"TestA"}`, `{"Action":"pass","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"q","Test":"TestD"}`, []string{"4 tests ran, but the list says 3"}},
		{"a package does not build", `{"Action":"fail","Package":"p"}`, `{"Action":"fail","Package":"p"}` + "\n" + `{"Action":"fail","Package":"q"}`, []string{"package q failed outside of its tests"}},
		{"a listed test is missing", `{"Action":"skip","Package":"p","Test":"TestC"}` + "\n", "", []string{"TestC is in the list, but did not run", "2 tests ran, but the list says 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := parse(list)
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(strings.NewReader(strings.Replace(run, c.from, c.to, 1)), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			if differences := compare(got, want); !slices.Equal(differences, c.want) {
				t.Errorf("%q, want %q", differences, c.want)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, list := range []string{"", "three tests", "3 tests\nfail TestA", "3 tests\npass TestA because"} {
		if _, err := parse(list); err == nil {
			t.Errorf("%q has no error", list)
		}
	}
}
