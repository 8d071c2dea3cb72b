package explain

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		name, text, want string
	}{
		{"short", "a b", "a b"},
		{"at a space", "aaaa bbbb cccc", "aaaa bbbb\ncccc"},
		{"line breaks are kept", "aa\n\nbb\n", "aa\n\nbb\n"},
		{"white space at a break is dropped", "aaaaaaaa    bbb", "aaaaaaaa\nbbb"},
		{"white space inside a line is kept", "a    b", "a    b"},
		{"white space at the end", "aaaa  ", "aaaa  "},
		{"white space at the end, beyond", "aaaaaaaaa     ", "aaaaaaaaa"},
		{"white space at the start", "   a", "   a"},
		{"long words are not broken", "abcdefghijklmno", "abcdefghijklmno"},
		{"long words begin a line", "a b abcdefghijklmno c", "a b\nabcdefghijklmno\nc"},
		{"a long word after one space", " abcdefghijklmno", " abcdefghijklmno"},
		{"characters, not bytes", "éééé éééé é", "éééé éééé\né"},
		{"no-break spaces do not break", "aaaa\u00a0bbbbb cc", "aaaa\u00a0bbbbb\ncc"},
		{"empty", "", ""},
	} {
		if got := wrap(10, tc.text); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	if got := indent(2, "a\n\nb"); got != "  a\n  \n  b" {
		t.Errorf("indent: %q", got)
	}
}

const document = `{"components":{"schemas":{
  "a.Other":{"type":"object"},
  "a.Loop":{"type":"object","description":"A loop.","properties":{"again":{"$ref":"#/components/schemas/a.Loop"},"n":{"type":"integer"}}},
  "a.Time":{"type":"string"},
  "a.K":{"type":"object","x-kubernetes-group-version-kind":[{"group":"g","version":"v1","kind":"K"}],"required":["list"],"properties":{
    "list":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number","enum":[1000000,null,"",0.5,true]}}}},
    "map":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}},
    "any":{"type":"object","additionalProperties":true},
    "loop":{"description":"Mine.","allOf":[{"$ref":"#/components/schemas/a.Loop"}]},
    "time":{"$ref":"#/components/schemas/a.Time"},
    "lost":{"$ref":"#/components/schemas/b.Lost"},
    "one":{"type":"string","allOf":[{"pattern":"x"}]},
    "two":{"type":"string","allOf":[{"pattern":"x"},{}]},
    "free":{"x-kubernetes-preserve-unknown-fields":true}
  }}}}}`

func explained(t *testing.T, r Request) string {
	t.Helper()
	r.Group, r.Version, r.Kind, r.MaxBytes = "g", "v1", "K", 1<<20
	text, err := Text([]byte(document), r)
	if err != nil {
		t.Fatal(err)
	}
	return text[strings.Index(text, "\n\n")+2:]
}

func TestText(t *testing.T) {
	for _, tc := range []struct {
		name string
		Request
		want string
	}{
		{"all", Request{Levels: math.MaxUint}, `DESCRIPTION:
    <empty>
FIELDS:
  any	<Object>
  free	<Object>
  list	<[]Object> -required-
    x	<number>
    enum: 1e+06, <no value>, "", 0.5, ....
  loop	<Loop>
    again	<Loop>
    n	<integer>
  lost	<Lost>
  map	<map[string][]string>
  one	<Object>
  time	<string>
  two	<string>

`},
		{"one level", Request{Levels: 1}, `DESCRIPTION:
    <empty>
FIELDS:
  any	<Object>
  free	<Object>
  list	<[]Object> -required-
  loop	<Loop>
  lost	<Lost>
  map	<map[string][]string>
  one	<Object>
  time	<string>
  two	<string>

`},
		{"a field of items", Request{Path: []string{"list", "x"}}, `FIELD: x <number>
ENUM:
    1e+06
    <no value>
    ""
    0.5
    true

DESCRIPTION:
    <empty>

`},
		{"a cycle, until it shows", Request{Path: []string{"loop", "again"}, Levels: math.MaxUint}, `FIELD: again <Loop>


DESCRIPTION:
    A loop.
    
FIELDS:
  again	<Loop>
    again	<Loop>
    n	<integer>
  n	<integer>

`},
		{"descriptions of both", Request{Path: []string{"loop"}, Levels: 1}, `FIELD: loop <Loop>


DESCRIPTION:
    Mine.
    A loop.
    
FIELDS:
  again	<Loop>
  n	<integer>

`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := explained(t, tc.Request); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	r := Request{Group: "g", Version: "v1", Kind: "K", MaxBytes: 1 << 20, Path: []string{"list", "y"}}
	var none *NoFieldError
	if _, err := Text([]byte(document), r); !errors.As(err, &none) || none.Field != "y" {
		t.Errorf("no such field: %v", err)
	}
	r.Path, r.MaxBytes = nil, 200
	if _, err := Text([]byte(document), r); !errors.Is(err, ErrTooLong) {
		t.Errorf("too long: %v", err)
	}
	r.Kind = "Other"
	if _, err := Text([]byte(document), r); err == nil {
		t.Error("a kind that is not there is explained")
	}
	if _, err := Text([]byte("{"), r); err == nil {
		t.Error("text that is not JSON is explained")
	}
}
