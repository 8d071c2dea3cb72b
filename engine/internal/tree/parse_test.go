package tree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"
)

// texts are valid and invalid documents that seed every comparison with upstream's decoder.
var texts = []string{
	`null`, `true`, `false`, `""`, `"a"`, `0`, `-0`, `-1`, `1.0`, `-0.0`, `1e3`, `1E+3`, `1e-7`, `0.000001`, `1e21`, `1e20`, `123456789012345678`,
	`9223372036854775807`, `9223372036854775808`, `-9223372036854775808`, `-9223372036854775809`, `18446744073709551615`, `18446744073709551616`,
	`99999999999999999999999999`, `9007199254740993`, `0.1`, `0.30000000000000004`, `5e-324`, `1e-400`, `1.7976931348623157e308`, `1.5E-9`, `1e400`, `-1e400`,
	`[1e400, "x`, `{"a":1e400,"b":2e999}`,
	`01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `--1`, `0x10`, `1_000`, `NaN`, `Infinity`, `-a`, `00`, `-01`,
	`{}`, `[]`, ` { } `, "[\n]", "{\r}", "[ {}]", "[{} ]", "[[\r\n1]]", `{"a" :1}`, `{ "a":{"b":[ 1.0]}, "a ":"b c"}`, `[{},{ "a":1,"a":2}]`, `[[]]`, `[{}]`, `{"a":{}}`, `{"a":[]}`, `[1,2,3]`, `[1,[2,[3]],{"a":[4]}]`,
	`{"a":1,"b":2}`, `{"a":1,"a":2}`, `{"a":{"x":1},"b":0,"a":{"y":2}}`, `{"a":1,"\u0061":2}`, `{"":1,"":2}`, `{"":{"":1,"":2}}`,
	`[{"a":1,"a":2},{"a":1,"a":2,"a":3}]`, `{"a":[{"b":1,"b":2}],"a.b":1,"a.b":1}`, `{"a":{"b":1,"b":1},"a":{"b":2,"b":2}}`,
	`{"ab":1,"ba":1,"ab":2}`, `{"a":1,"b":{"a":2}}`, "{\"\xff\":1,\"\\ufffd\":2}",
	`"\u0041\n\t\"\\\/\b\f\r"`, `"\u00e9é"`, `"\ud83d\ude00"`, `"😀"`, `"\ud800"`, `"\udc00"`, `"\ud800\u0041"`, `"\ud800\ud800\udc00"`, `"\uD83D\u"`, `"\ud800\`, `"\ud800x"`,
	`"\u2028\u2029"`, "\"\u2028\"", `"\u0000"`, "\"\x00\"", "\"\n\"", "\"\x1f\"", "\"\x7f\"", `"<>&"`, `"\x"`, `"\'"`, `"\u12"`, `"\u12g4"`, `"`, `"\`, `"\"`, `"abcdefgh`, `"abcdefghi"`,
	"\"\xff\"", "\"abc\xffdef\xc3\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xc0\x80\"", "\"ok\xe2\x82\"", "\"\xef\xbf\xbd\"", "\"\\n\xff\"", "\"\xff\\n\"",
	"\ufeff{}", "\xff", "\x00", "", " ", "\n", "{", "}", "[", "]", ",", ":", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `[1,`, `[1,]`, `[,]`, `[1 2]`, `[1`, `[}`, `{]`,
	`{"a":1}}`, `{} {}`, `{}x`, `1 2`, `nul`, `nulll`, `tru`, `truee`, `fals`, `falsey`, `n`, `t`, `f`, `True`, `'a'`, `// c`, `{"a":/*c*/1}`, "\v1", "1\v", "{\f}", "1\u00a0",
	`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"n":1.0,"list":[1,1.5,"s",null,true]}}`,
}

func TestParseAgreesWithUpstream(t *testing.T) {
	for _, text := range texts {
		compare(t, []byte(text))
	}
	for _, n := range []int{2, 15, 16, 17, 31, 32, 33, 100, 5000} {
		compare(t, []byte(manyKeys(n, -1)))
		compare(t, []byte(manyKeys(n, 0)))
		compare(t, []byte(manyKeys(n, n-1)))
	}
	for i := range len(object) {
		compare(t, []byte(object[:i]))
	}
	compare(t, []byte(`{"`+strings.Repeat("k", 65536)+`":1,"`+strings.Repeat("k", 65536)+`":2}`))
	compare(t, []byte(`{"`+strings.Repeat(`\u006b`, 65536)+`":1}`))
	compare(t, []byte(strings.Repeat("[", 10000)+strings.Repeat("]", 10000)))
	compare(t, []byte(strings.Repeat("[", 10001)+strings.Repeat("]", 10001)))
	compare(t, []byte(strings.Repeat(`{"a":`, 10000)+"1"+strings.Repeat("}", 10000)))
	compare(t, []byte(strings.Repeat(`{"a":`, 10001)+"1"+strings.Repeat("}", 10001)))
	compare(t, []byte(strings.Repeat("[", 1<<20)))
}

const object = `{"a":[1,-2.5e+3,"x\n\u00e9\ud83d\ude00",{"b":null,"c":[true,false]}],"d":"é"}`

// manyKeys returns an object with n members. If again is not negative, that member occurs twice.
func manyKeys(n, again int) string {
	var b strings.Builder
	b.WriteString(`{"x":{`)
	for i := range n {
		fmt.Fprintf(&b, `"key%d":%d,`, i, i)
	}
	if again >= 0 {
		fmt.Fprintf(&b, `"key%d":"again",`, again)
	}
	return b.String() + `"last":[]}}`
}

// compare checks acceptance, values, duplicates, error texts and output of one document against upstream's decoder.
func compare(t testing.TB, text []byte) {
	t.Helper()
	var want any
	strict, wantErr := kjson.UnmarshalStrict(text, &want, kjson.DisallowDuplicateFields)
	d := Acquire()
	defer d.Release()
	root, err := d.ParseJSON(text, Limits{MaxBytes: 1 << 30})
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%.200q: error %v, upstream %v", text, err, wantErr)
	}
	if err != nil {
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Text != wantErr.Error() {
			t.Fatalf("%.200q: error %#v, upstream %v", text, err, wantErr)
		}
		if root != 0 || len(d.Nodes) != 1 || len(d.Src[Arena]) != 0 {
			t.Fatalf("%.200q: a rejected text left %d nodes, %d bytes", text, len(d.Nodes), len(d.Src[Arena]))
		}
		return
	}
	checkTree(t, d, root, !bytes.Equal(compacted(t, d.Raw(root)), d.Raw(root)))
	if got := d.Any(root); !reflect.DeepEqual(got, want) {
		t.Fatalf("%.200q: value %#v, upstream %#v", text, got, want)
	}
	var texts, wantTexts []string
	for duplicate := range d.Duplicates(Request) {
		texts = append(texts, duplicate.Text)
		if quoted := fmt.Sprintf("duplicate field %q", duplicate.Path); quoted != duplicate.Text {
			t.Fatalf("%.200q: path %q, text %q", text, duplicate.Path, duplicate.Text)
		}
	}
	for _, s := range strict {
		wantTexts = append(wantTexts, s.Error())
	}
	if !reflect.DeepEqual(texts, wantTexts) || d.HasDuplicates(Request) != (len(strict) > 0) {
		t.Fatalf("%.200q: duplicates %q, upstream %q", text, texts, wantTexts)
	}
	printed, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.AppendCanonical(nil, root); string(got) != string(printed) {
		t.Fatalf("%.200q: canonical %.200q, upstream %.200q", text, got, printed)
	}
	out := d.AppendJSON(nil, root)
	checkOutput(t, text, out, want)
	for i := range d.Nodes[1:] {
		if n := &d.Nodes[i+1]; n.Kind >= Array {
			n.Flags |= Dirty
		}
	}
	checkOutput(t, text, d.AppendJSON(nil, root), want)
	if !Equal(d, root, d, root) {
		t.Fatalf("%.200q is not equal to itself", text)
	}
	e := Acquire()
	defer e.Release()
	again, err := e.Parse(printed, Arena, Limits{MaxBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	// A float without fraction is printed as an integer, so the two need not be equal.
	if same := reflect.DeepEqual(want, e.Any(again)); Equal(d, root, e, again) != same || Equal(e, again, d, root) != same {
		t.Fatalf("%.200q and its canonical form %.200q: equal is not %v", text, printed, same)
	}
	if apiVersion, kind, ok := PeekTypeMeta(text); ok {
		m := want.(map[string]any)
		if m["apiVersion"] != apiVersion || m["kind"] != kind {
			t.Fatalf("%.200q: peeked %q, %q", text, apiVersion, kind)
		}
	}
}

// compacted returns a text of JSON without white space.
func compacted(t testing.TB, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		t.Fatalf("%.200q: %v", text, err)
	}
	return b.Bytes()
}

// checkOutput checks that the output has exactly the expected values, no duplicate key and no white space.
func checkOutput(t testing.TB, text, out []byte, want any) {
	t.Helper()
	if !bytes.Equal(compacted(t, out), out) {
		t.Fatalf("%.200q: output %.200q has white space", text, out)
	}
	var got any
	if strict, err := kjson.UnmarshalStrict(out, &got); err != nil || len(strict) > 0 {
		t.Fatalf("%.200q: output %.200q: %v, %v", text, out, err, strict)
	}
	// Upstream's output of a float may parse as an integer, so compare reparsed values.
	first, _ := json.Marshal(want)
	var reread any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(first, &reread); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, reread) {
		t.Fatalf("%.200q: output %.200q reads as %#v, upstream's as %#v", text, out, got, reread)
	}
}

// checkTree checks the invariants of a tree that was parsed from a text with or without white space.
func checkTree(t testing.TB, d *Doc, i uint32, spaced bool) {
	t.Helper()
	n := d.Nodes[i]
	if n.Flags&superseded != 0 || n.Off >= n.End || int(n.End) > len(d.Src[n.Src]) {
		t.Fatalf("node %d: %+v", i, n)
	}
	if n.Kind < Array {
		if n.First != 0 || n.Live != 0 {
			t.Fatalf("scalar %d: %+v", i, n)
		}
		return
	}
	if n.Val != 0 || n.Flags&^(Lossy|Spaced) != 0 || (n.Flags&Spaced != 0) != spaced {
		t.Fatalf("container %d: %+v", i, n)
	}
	var count uint32
	for c := n.First; c != 0; c = d.Nodes[c].Next {
		if n.Kind == Array && (d.Nodes[c].Key != count || d.Nodes[c].KeyLen != 0) {
			t.Fatalf("element %d of node %d: %+v", count, i, d.Nodes[c])
		}
		if d.Nodes[c].Flags&Lossy != 0 && n.Flags&Lossy == 0 {
			t.Fatalf("node %d is clean above %d", i, c)
		}
		count++
		checkTree(t, d, c, spaced)
	}
	if count != n.Live {
		t.Fatalf("node %d has %d members: %+v", i, count, n)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte(object))
	f.Add([]byte(manyKeys(20, 3)))
	f.Fuzz(func(t *testing.T, text []byte) { compare(t, text) })
}
