package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// all has a field of each type and for each tag.
type all struct {
	Action string   `arg:"" enum:"pull,list" help:"What to do."`
	Files  []string `arg:"" optional:"" name:"file" help:"Files to read."`

	Text    string
	Shape   string `short:"s" default:"round" enum:"round,square"`
	Side    string `enum:"left,right"`
	Quiet   bool   `short:"q"`
	Count   int    `default:"7"`
	Depth   int32
	Seed    uint64
	Score   float64
	MaxWait time.Duration `default:"5s"`
	Level   slog.Level    `default:"info" enum:"debug,info"`
	Tries   int           `alone:"1000"`
	more    `group:"More"`
	private string //nolint:unused // fields that are not exported are no settings
}

// more is a struct in all.
type more struct {
	Names  []string
	Paths  []string `sep:"none" placeholder:"FILE"`
	Hosts  map[string]string
	Secret string `env:"-" file:"-" hidden:""`
	Other  string `group:"Others"`
}

// read sets the settings by flags, variables and a file.
func read(t *testing.T, flags []string, variables map[string]string, file string) (all, *Set, error) {
	t.Helper()
	var a all
	s := Declare(&a, "T_")
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.AddTo(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	s.ReadEnvironment(func(name string) (string, bool) { text, ok := variables[name]; return text, ok })
	var err error
	if file != "" {
		path := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		err = s.ReadFile(path)
		err = s.Explain(errors.Join(s.Err(), err))
		if err != nil {
			err = errors.New(strings.ReplaceAll(err.Error(), path, "FILE"))
		}
		return a, s, err
	}
	return a, s, s.Explain(s.Err())
}

// TestSources sets each setting by a flag, a variable and a file, to the same value.
func TestSources(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want func(*all)
	}{
		"text":     {"a,b", func(a *all) { a.Text = "a,b" }},
		"shape":    {"square", func(a *all) { a.Shape = "square" }},
		"side":     {"left", func(a *all) { a.Side = "left" }},
		"quiet":    {"true", func(a *all) { a.Quiet = true }},
		"count":    {"-3", func(a *all) { a.Count = -3 }},
		"depth":    {"9", func(a *all) { a.Depth = 9 }},
		"seed":     {"18446744073709551615", func(a *all) { a.Seed = 1<<64 - 1 }},
		"score":    {"1.5", func(a *all) { a.Score = 1.5 }},
		"max-wait": {"1m", func(a *all) { a.MaxWait = time.Minute }},
		"level":    {"debug", func(a *all) { a.Level = slog.LevelDebug }},
		"tries":    {"2", func(a *all) { a.Tries = 2 }},
		"names":    {"a,b", func(a *all) { a.Names = []string{"a", "b"} }},
		"paths":    {"a,b", func(a *all) { a.Paths = []string{"a,b"} }},
		"hosts":    {"a=b,c=d=e", func(a *all) { a.Hosts = map[string]string{"a": "b", "c": "d=e"} }},
		"other":    {"x", func(a *all) { a.Other = "x" }},
	} {
		var want all
		Declare(&want, "")
		tc.want(&want)
		variable := "T_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		other := map[string]string{variable: "0"}
		byFlag, s, err1 := read(t, []string{"--" + name + "=" + tc.text}, other, name+": 0\n")
		byVariable, _, err2 := read(t, nil, map[string]string{variable: tc.text}, name+": 0\n")
		byFile, _, err3 := read(t, nil, nil, name+": '"+tc.text+"'\n")
		for source, got := range map[string]all{"flag": byFlag, "variable": byVariable, "file": byFile} {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s by %s: %+v, want %+v", name, source, got, want)
			}
		}
		if err := errors.Join(err1, err2, err3); err != nil || !s.Lookup(name).IsFlag() {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCopyTo(t *testing.T) {
	_, s, err := read(t, []string{"--text=flag"}, map[string]string{"T_COUNT": "8"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var copied all
	c := s.CopyTo(&copied)
	path := filepath.Join(t.TempDir(), "f.yaml")
	if err := os.WriteFile(path, []byte("text: file\ncount: 9\nshape: square\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if copied.Text != "flag" || copied.Count != 8 || copied.Shape != "square" {
		t.Errorf("%+v", copied)
	}
	if !s.Lookup("shape").IsDefault() {
		t.Error("the file of the copy changes the original")
	}
}

func TestLists(t *testing.T) {
	a, _, err := read(t, []string{"--names=a", "--names", "b,c", "--paths=x", "--paths=y", "--hosts=a=1", "--hosts=b=2", "-qs", "square", "--tries"}, nil, "")
	if got := fmt.Sprint(a.Names, a.Paths, a.Hosts, a.Quiet, a.Shape, a.Tries, err); got != "[a b c] [x y] map[a:1 b:2] truesquare1000 <nil>" {
		t.Error(got)
	}
	a, _, err = read(t, nil, map[string]string{"T_NAMES": ""}, "paths: ['a,b', c]\nhosts: [a=1]\nnames: [x]\n")
	if got := fmt.Sprint(a.Names, a.Paths, a.Hosts, err); got != "[x] [a,b c] map[a:1] <nil>" {
		t.Error(got)
	}
}

// TestErrors tests that all values that cannot be parsed are reported, with their origins, and that the defaults stay.
func TestErrors(t *testing.T) {
	a, _, err := read(t,
		[]string{"--shape=x", "--quiet=maybe", "--count=1.5", "--depth=99999999999", "--seed=-1", "--max-wait=9", "--text", "--names", "--side", "-q"},
		map[string]string{"T_SCORE": "high"}, "level: loud\nunknown: 1\nhosts: a\nnames: {}\npaths: [[]]\ncount: ~\ntext: [a]\nquiet: a\nquiet: b\nsecret: x\n")
	want := []string{
		`--shape: "x" is not round or square`, `--quiet: "maybe" is not true or false`, `--count: "1.5" is not a whole number`,
		"--depth: 99999999999 is out of range", `--seed: "-1" is not a whole number of 0 or more`,
		`--max-wait: "9" is not a duration: use numbers with units, such as 500ms, 20s or 1m30s`,
		"--text has no value: --names is a flag", "--side has no value: -q is a flag",
		`--score: "high" is not a number (set by the variable T_SCORE)`, `--level: "loud" is not debug or info (FILE:1 sets level)`,
		`--hosts: "a" is not VALUE (FILE:3 sets hosts)`,
		`FILE:2: unknown setting "unknown": there is no such flag`, "FILE:4: names must be a value or a list of values",
		"FILE:5: paths must be a value or a list of values", "FILE:6: count must be a value", "FILE:7: text must be a single value",
		"FILE:9: quiet is set twice", `FILE:10: unknown setting "secret": there is no such flag`,
	}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	var defaults all
	Declare(&defaults, "")
	if !reflect.DeepEqual(a, defaults) {
		t.Errorf("%+v, want the defaults %+v", a, defaults)
	}
}

// TestEmpty tests that empty values are errors, except in variables.
func TestEmpty(t *testing.T) {
	flags := []string{"--text=", "--paths", "", "--names=a,,b", "--count=", "--level=", "--quiet="}
	a, _, err := read(t, flags,
		map[string]string{"T_SHAPE": "", "T_DEPTH": ""}, "side: ''\nmore: x\nhosts: ''\nother: [\"\"]\n")
	const empty = " is empty: give a value, or leave it out"
	want := []string{"--text" + empty, "--paths" + empty, "--names" + empty, "--count" + empty, "--level" + empty,
		"--quiet" + empty, "--side" + empty + " (FILE:1 sets side)", "--hosts" + empty + " (FILE:3 sets hosts)",
		`FILE:2: unknown setting "more": there is no such flag`, "FILE:4: other must be a single value"}
	if err == nil || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got\n%v\nwant\n%s", err, strings.Join(want, "\n"))
	}
	var defaults all
	Declare(&defaults, "")
	if !reflect.DeepEqual(a, defaults) {
		t.Errorf("%+v, want the defaults %+v", a, defaults)
	}
}

func TestExplain(t *testing.T) {
	_, s, err := read(t, nil, map[string]string{"T_MAX_WAIT": "9s"}, "max-wait: 1s\ncount: 3\n")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("--max-wait needs --count, not --counter")
	explained := s.Explain(fmt.Errorf("check: %w", cause))
	if want := "check: --max-wait needs --count, not --counter (FILE:2 sets count) (set by the variable T_MAX_WAIT)"; !errors.Is(explained, cause) ||
		!strings.HasPrefix(explained.Error(), "check: --max-wait needs --count, not --counter (") || !strings.Contains(explained.Error(), "f.yaml:2 sets count)") ||
		!strings.HasSuffix(explained.Error(), "(set by the variable T_MAX_WAIT)") {
		t.Errorf("%v, want %s", explained, want)
	}
	two := fmt.Errorf("a %w, b %w", cause, errors.New("c"))
	if got := s.Explain(two); !strings.HasPrefix(got.Error(), two.Error()) || s.Explain(nil) != nil {
		t.Error(got)
	}
}

func TestArguments(t *testing.T) {
	for _, tc := range []struct{ words, want string }{
		{"pull", "pull [] [] <nil>"},
		{"list a b", "list [a b] [] <nil>"},
		{"", " [] [] the argument ACTION is missing: what to do"},
		{"list a  b", "list [] [] the argument FILE is empty: files to read"},
		{"pul", ` [] [] ACTION: "pul" is not pull or list`},
	} {
		var a all
		rest, err := Declare(&a, "").ReadArguments(slices.DeleteFunc(strings.Split(tc.words, " "), func(string) bool { return tc.words == "" }))
		if got := fmt.Sprint(a.Action, " ", a.Files, " ", rest, " ", err); got != tc.want {
			t.Errorf("%q: %s, want %s", tc.words, got, tc.want)
		}
	}
	var a struct {
		Name string `arg:"" optional:""`
	}
	s := Declare(&a, "")
	if rest, err := s.ReadArguments([]string{"a", "b"}); err != nil || fmt.Sprint(rest) != "[b]" || s.Arguments[0].Usage() != "[NAME]" {
		t.Error(rest, err)
	}
	if s := Declare(&all{}, ""); s.Arguments[0].Usage() != "pull|list" || s.Arguments[1].Usage() != "[FILE...]" {
		t.Errorf("%+v", s.Arguments)
	}
}

func TestDescriptions(t *testing.T) {
	s := Declare(&all{}, "T_")
	for name, want := range map[string]string{
		"text": "VALUE", "shape": "round|square", "quiet": "bool", "count": "N", "max-wait": "DURATION", "paths": "FILE", "level": "debug|info",
	} {
		if got := s.Lookup(name).Type(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if o := s.Lookup("secret"); o.Variable != "" || o.InFile || !o.Hidden || o.Group != "More" || s.Lookup("other").Group != "Others" || s.Lookup("private") != nil {
		t.Errorf("%+v", o)
	}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "the default of --max-wait: ") {
			t.Error(p)
		}
	}()
	Declare(&struct {
		MaxWait time.Duration `default:"soon"`
	}{}, "")
}
