package generate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/jsontree"
	"github.com/crdeval/crdeval/engine/conformance/oracle"
)

// syntaxSchema has a place for values of any kind, u, and typed places in v.
const syntaxSchema = `{"type":"object","properties":{"anchor":{"x-kubernetes-preserve-unknown-fields":true},
"u":{"x-kubernetes-preserve-unknown-fields":true},
"v":{"type":"object","properties":{"i":{"type":"integer"},"n":{"type":"number"},"s":{"type":"string"},
"b":{"type":"boolean"},"x":{"x-kubernetes-int-or-string":true},"l":{"type":"array","items":{"type":"string"}},
"m":{"type":"object","additionalProperties":{"type":"integer"}},"o":{"type":"object",
"properties":{"a":{"type":"string"},"1":{"type":"string"},"true":{"type":"string"}}}}}}}`

func syntaxGroup(name string) Group {
	schema, err := jsontree.Parse([]byte(syntaxSchema))
	if err != nil {
		panic(err)
	}
	return Group{Name: name, CRD: Manifest(schema).JSON(), Shared: true}
}

// Scalars, collections and keys in the syntax of YAML 1.1. Some are invalid.
var (
	yamlValues = []string{
		"yes", "no", "on", "Off", "y", "N", "~", "null", "Null", "", "0o17", "017", "08", "0x1F", "0b101", "0b2",
		"1_000", "1_0.5", "_1", "-0x1", "+1", "-0", "+.5", ".5", "5.", "1e3", "1E+3", "1.5e-3", ".inf", "-.Inf",
		".NaN", "190:20:30", "1:60", "-1:30",
		"2001-12-14", "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10 -5", "!!str 1", "!!int '1'",
		"!!float 1", "!!bool yes", "!!null ''", "!!binary aGk=", "!!binary '***'", "!!timestamp 2001-12-14",
		"!foo bar", "! 1", "!!set {a}", "!!omap [a: 1]",
		"'it''s'", `"a\tb\x41\u00e9\U0001F600\e\_\N\L"`, "\"a\\\n  b\"", "|\n    a\n    b\n",
		">\n    a\n    b\n\n    c\n", "|-\n    a\n", "|+\n    a\n\n", ">2\n      a\n", "[a, b]", "[a, b,]",
		"{a: 1, b}", "{a: 1, a: 2}", "{? a : 1}", "[a: 1, b]",
		"- x", "*a", "&a 1", "&b {x: 1}", "*b", "a: b", "a #c", "a#b", "#c", "@a", "`a", "%a", "a\tb", "\ta",
		"9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400",
		"1e-400", "123456789.123456789123",
		"True", "tRUE", "\u0085", "a\u2028b", "\ufeffa", "é", "\U0001F600", "\x01", "\xff", "<<", "=", "? a", ": a",
		"-", "?", ":", "a:", `""`, "''", "0.", "00", "0_0", "1e", "0x", "0xg", "1.2.3", "1 2",
	}
	yamlKeys = []string{
		"a", "b", "1", "1.5", "1.0", "true", "yes", "on", "y", "null", "~", "0x10", "010", "1_0", "1e3", ".inf",
		"-1", "2001-12-14", "18446744073709551615", "<<", `"q"`, "'q'", "? a", "[a]", "{a: 1}", "!!str 1",
		"!!binary aGk=", "&k d", "*k", "", "é", "a b", "=",
	}
	yamlHeads = []string{"", "", "", "", "%YAML 1.1\n---\n", "---\n", "# c\n--- # d\n"}
	yamlTails = []string{"\x00", "\t\n", "# end"}
	yamlBytes = []string{
		" ", "\n", "\t", "-", ":", "#", "'", `"`, "&", "*", "!", "|", ">", "\r", "\u0085", "{", "]", "?", ",",
	}
)

// YAMLSyntax returns a group of creations in YAML that is not JSON. It makes no second document: an API server ignores
// it, and the engine rejects it (docs/quirks.md).
func YAMLSyntax(r Rand) Group {
	g := syntaxGroup("yaml syntax")
	for range 4 {
		g.Objects = append(g.Objects, Object{Version: version1, YAML: true, Body: []byte(yamlText(r)),
			FieldValidation: Pick(r, []string{"Strict", "Warn", "Ignore", ""})})
	}
	return g
}

func yamlText(r Rand) string {
	var b strings.Builder
	b.WriteString(Pick(r, yamlHeads))
	fmt.Fprintf(&b, "apiVersion: %s/%s\nkind: %s\nmetadata:\n  name: x\n  namespace: default\n", group, version1,
		kind)
	if r.Chance(20) {
		fmt.Fprintf(&b, "  labels:\n    %s: %s\n", Pick(r, yamlKeys), Pick(r, yamlValues))
	}
	if r.Chance(30) {
		b.WriteString("anchor: &a {x: 1, y: [2]}\n")
	}
	b.WriteString("u:\n")
	for i := range r.Between(1, 2) {
		key := fmt.Sprint("k", i)
		if i == 0 && r.Chance(50) { // of two keys that become equal, such as 1 and 1.0, upstream picks one at random
			key = Pick(r, yamlKeys)
		}
		fmt.Fprintf(&b, "  %s: %s\n", key, Pick(r, yamlValues))
	}
	b.WriteString("v:\n")
	for _, key := range []string{"i", "n", "s", "b", "x", "l", "m", "o"} {
		if !r.Chance(20) {
			continue
		}
		v := Pick(r, yamlValues)
		if r.Chance(50) {
			v = Pick(r, []string{"1", "a", "true", "1.5", "[]"})
		}
		switch key {
		case "l":
			v = "\n  - " + v + "\n  - " + Pick(r, yamlValues)
		case "m", "o":
			v = "\n    " + Pick(r, yamlKeys) + ": " + v
		}
		fmt.Fprintf(&b, "  %s: %s\n", key, v)
	}
	if r.Chance(5) {
		b.WriteString(Pick(r, yamlTails))
	}
	text := b.String()
	if r.Chance(10) { // behind the head, so that it does not become a document of its own
		from := strings.Index(text, "u:\n")
		at := from + r.IntN(len(text)-from)
		text = text[:at] + Pick(r, yamlBytes) + text[at+r.IntN(2):]
	}
	if r.Chance(5) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// patchedObject has keys and values that pointers and texts of JSON patches distinguish.
const patchedObject = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"x",
"namespace":"default","resourceVersion":"7","uid":"u","labels":{"a/b":"c"},"creationTimestamp":"2020-01-01T00:00:00Z",
"generation":1},
"u":{"a":{"b":[1,2,[3,{"c":null}],null]},"n":null,"e":{},"l":[],"s":"<&>\u2028","f":1.0,"big":12345678901234567890,
"x":"é","":{"":1},"~1":1,"/":2,"01":3,"-":4},"v":{"i":1,"l":["a","b"]}}`

var (
	pointerTokens = []string{
		"a", "b", "u", "l", "n", "e", "s", "x", "", "-", "0", "1", "2", "3", "-1", "-2", "-4", "-5", "01", "+1",
		"1e0", "1.0", " 1", "99999999999999999999", "~0", "~1", "~01", "~00", "~", "~2", "c", "é", "%2F", ".",
	}
	pointers = []string{
		"/u/a", "/u/a/b", "/u/a/b/0", "/u/a/b/2/1", "/u/a/b/2/1/c", "/u/a/b/3", "/u/e", "/u/e/k", "/u/l", "/u/s",
		"/u/n", "/u/new", "/v/l/0", "/u/l/-", "/u/a/b/-", "/u/big", "/u/f", "/u/~1", "/u//",
		"", "/", "//", "u", "u/a", "#/u", "/u/", "/u/n/x", "/u/s/0", "/metadata/labels/a~1b", "/u/~01", "/u/01",
		"/u/-", "/v/l/-1", "/v/l/2", "/v/l/-3", "/apiVersion", "/metadata",
	}
	patchValues = []string{
		"null", "1", "1.0", "1e0", `"a"`, `"\u0061"`, "[]", "{}", "[null]", "[ 1 , 2 ]", `{"a":null}`,
		`{"b":[1,2,[3,{"c":null}],null]}`, `{"a":1,"a":2}`, `"<&>\u2028"`, `"\u003c\u0026\u003e\u2028"`,
		"12345678901234567890", "1.2345678901234567e+19",
		`[{"c":null}]`, `{"c":null}`, `{"":1}`, "[[]]", "\"\xff\"", `"\ud800"`, "-0", `{"x":{"y":{"z":null}}}`,
	}
	patchExtras = []string{
		`,"path":"/u/q"`, `,"value":null`, `,"Op":"add"`, `,"from":null`, `,"x":1`, `,"path":null`, `,"op":1`,
		`,"op":"add"`,
	}
)

// PatchSyntax returns a group of JSON and merge patches with unusual pointers, nulls and spellings of values.
func PatchSyntax(r Rand) Group {
	g := syntaxGroup("patch syntax")
	for range 4 {
		o := Object{Op: oracle.Update, Version: version1, Old: []byte(patchedObject), Patch: oracle.JSONPatch,
			FieldValidation: Pick(r, []string{"Strict", "Warn", "Ignore", ""})}
		if r.Chance(25) {
			o.Patch = oracle.MergePatch
			value := func() string { return Pick(r, patchValues) }
			o.Body = fmt.Appendf(nil, `{"u":{"a":%s,"e":{"k":%s},"n":%s,"l":%s,"new":{"p":[{"q":%s}]}}}`, value(),
				value(), value(), value(), value())
		} else {
			operations := make([]string, r.Between(1, 3))
			for i := range operations {
				operations[i] = operationText(r)
			}
			o.Body = []byte("[" + strings.Join(operations, Pick(r, []string{",", " ,\n"})) + "]")
		}
		g.Objects = append(g.Objects, o)
	}
	return g
}

func operationText(r Rand) string {
	pointer := func() string {
		text := Pick(r, pointers)
		switch r.IntN(4) {
		case 0:
			text = Pick(r, []string{"/u", "/u/a/b", "/v/l"})
			for range r.Between(1, 3) {
				text += "/" + Pick(r, pointerTokens)
			}
		case 1:
			text = Pick(r, pointers[:19])
		}
		quoted, _ := json.Marshal(text)
		return string(quoted)
	}
	name := Pick(r, []string{"add", "add", "remove", "replace", "replace", "test", "move", "copy", "copy"})
	text := fmt.Sprintf(`{"op":%q,"path":%s`, name, pointer())
	switch {
	case name == "move" || name == "copy":
		text += `,"from":` + pointer()
	case name != "remove" && !r.Chance(4):
		text += `,"value":` + Pick(r, patchValues)
	}
	if r.Chance(3) {
		text += Pick(r, patchExtras)
	}
	return text + "}"
}
