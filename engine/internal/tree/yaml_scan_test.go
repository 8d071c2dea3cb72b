package tree

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

// scanned are documents that the scanner reads.
var scanned = []string{
	"a: 1", "a: b\n", "---\na: 1\n", "# c\n\n--- # c\n# c\na: b # c\n", "a:\n  b:\n    c: d\n  e: f\ng: h\n", "a:\n- b\n- c:\n  d: e\n-\n- - f\n  - g\nh: i\n",
	"- a\n-   b: c\n    d: e\n-\n  f: g\n", "b: 1\na: {d: 1, c: [x, 'y', \"z\"], b: {}}\nc: []\n", "a:\nb:\n", "a:\n-\n-\nb:\n",
	"a: b\n  c\n\n\n  d # e\nf: g\n", "a:\n  b c\n   d\n", "a: \"b\n  c\n\n  d \\\n  e\"\nf: 'g\n\n  h'\n", "a: \"b\\tc\\u00e9\\x41\\U0001F600\\e\\0\\N\\_\\L\\P\\\"\"\n",
	"a: |\n  b\n   c\n\n  d\n\n\ne: |-\n  f\ng: |+\n  h\n\ni: |2\n    j\nk: >\n  l\n  m\n\n  n\n    o\n  p\nq: >-\n  r\n", "a: |\nb: >-\n\nc: d\n", "a: |  # c\n  b\n", "a: |\n  b\t\"c\" \\d\n",
	"a: 'it''s'\nb: 'say \"x\" \\'\nc: say \"x\" \\\n", "'a': 1\n\"b\": 2\n'c d': 3\n\"\": 4\n", "é: ü\nz: \"ö\"\nw: |\n  ä\n",
	"a: [1, -2, 0, 1.5, 1e3, .5, +1, 0x1f, 0o17, 017, 08, 0b11, 1_000, 12345678901234567, 18446744073709551616]\n", "a: [yes, No, on, OFF, y, n, true, False, ~, null, nullx, yesterday]\n",
	"a: 2001-12-14\nb: 2001-12-14t21:59:43.10-05:00\nc: 10.0.0.1\nd: 1Gi\ne: 100m\nf: -foo\ng: --x\nh: 1:30\ni: 0b2e\nj: 0x\nk: 1.2.3\n",
	"80: a\n-5: b\nx80: c\n", "a: http://b:80/c#d\ne: :f\ng: b:c\n", "a: {\"b\":1,\"c\":[\n  1,\n2\n]}\n", "{\"a\": [{\"b\": null}, {}, []], \"c\": \"d\"}", "[a, b,\n c]\n",
	"a:\n  b: c\n  # d\n  e: f\n\n  g:\n    h: i\n    j:\n      k: -1\n  l: m\nr:\n  s:\n  t: u\n", "a: b\nc:", "a:\n  b:\n", "a:\n  'b': c\n  d: e\n", "a: b\n\n# c\nd: e:f#g\n",
	"a: b#c\n", "a\"b: c\n", "a: \"\t\"\n", "metadata:\n  name: x\n  labels:\n    b: 1\n    a: 2\nkind: K\n",
	"a: é # c\n", "a: b # é\nc: d\n", "é: e\nf: ü\ng: h\n'ö': i\n", "j: [k é, l, {é: m}]\nm: 'ä'\no: \"é\tx\"\np: q\n  é\nr: |\n  s\n  é\nt: >\n  u\nv: \"w\n  é\"\nx: x\n", "a: 日本語:b#c 日本\n",
	"a: b\n  é # c\nd: e\n", "é: # ü\n- a # é\n- b\n", "a: 'é' # c\nb: \"é\" # c\nd: |- # é\n  e\n",
}

// doubts are documents that the scanner leaves to the YAML library.
var doubts = []string{
	"", "# c\n", "a", "~", "1", "'a'", "---\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n", "%YAML 1.1\n---\na: 1\n", "--- a: 1\n", " a: 1\n", "\ufeffa: 1\n", "a: 1\r\n",
	"a: &b 1\n", "a: *b\n", "a: !!str 1\n", "a: !b c\n", "<<: {a: 1}\n", "'<<': 1\n", "{<<: 1}", "? a\n: b\n", "{? a : b}", "a: @b\n", "a: `b`\n", "a: %b\n",
	"\ta: 1\n", "a:\t1\n", "a: b\tc\n", "a: [\t1]\n", "a:\n\t- 1\n", "- \ta\n", "a: |\n\tb\n", "a: |\n  \tb\n", "a: -", "a: \x00\n", "a: \xff\n", "a: \u0085\n", "a: \u2028\n", "# \x01\na: 1\n", "a: \x7f\n",
	"a: 1\na: 2\n", "a: {b: 1, b: 2}\n", "b: 1\na: 1\nb: 2\n", "1: a\n'1': b\n", "true: a\n", "on: a\n", "~: a\n", "1.5: a\n", "0x10: a\n", ": a\n", "{a: }", "{a}", "[a: b]", "[,]", "{a: 1,, b: 2}", "{a : 1}", "a : 1\n",
	"a: 0123456789abcdef\x7f\n", "a: b\n  c\x7f\n", "a: 'b\x7f'\n", "a: 'b\x01\n  c'\n", "a: \"b\x02\"\n", "a: \"0123456789abcdef\x7f\\n\"\n", "a: [b\x7f]\n", "a: [b\x01]\n", "{a\x7f: b}", "a\x7f: b\n", "'a\x7f': b\n",
	"a: |\n  \x01\n", "a: |\n  0123456789abcdef\x7f\n", "a: |\n  é\u2029\n", "a: >\n  \ufeff\n", "a: b # \x7f\n", "a: | # \x01\n  b\n", "a: b # é\xff", "a: é \xe9", "a: \ufffe\n", "a: 'é\u0085'\n",
	"a: b: c\n", "a: - b\n", "a: [1\n", "a: {b: 1\n", "a: \"b\n", "a: 'b\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n", "a: \"\\/\"\n", "a: [1] b\n", "a: \"b\" c\n", "a: \"b\"#c\n", "a:\n  b: 1\n c: 2\n", "a: 1\n b: 2\n", "- a\nb: 1\n", "a: |x\n  b\n", "a: |\n    \n  b\n", "a: |0\n  b\n",
	"a:\n  b: c\n d: e\n", "a:\n  b:\n    c: d\n   e: f\n", "a: b\n---\n", "a:\n---\n", "a: b\n- c\n", "a:\n  b: c\n   d: e\n",
	"0:\n 0b\n0", "- .inf\nb: c\n", "a: .inf\n", "a: -.Inf\n", "a: .nan\n", "a: -0.0\n", "a: 18446744073709551615\n", "a: 9223372036854775808\n", "a: 0b-1\n", "[a]: b\n", "{a: b}: c\n", "a: [b # c\n]\n", "a: [b?c]\n", "a: \"b\n---\nc\"\n", "a: [b,\n---\n]\n",
}

func TestScanYAML(t *testing.T) {
	for _, text := range scanned {
		if !compareScan(t, []byte(text)) {
			t.Errorf("%q is a doubt", text)
		}
	}
	for _, text := range doubts {
		if compareScan(t, []byte(text)) {
			t.Errorf("%q is not a doubt", text)
		}
	}
	for _, text := range []string{"a: " + strings.Repeat("[", maxScannedDepth), strings.Repeat("- ", maxScannedDepth+1) + "a\n",
		strings.Repeat("a", 2000) + ": b\n"} {
		if compareScan(t, []byte(text)) {
			t.Errorf("%.20q is not a doubt", text)
		}
	}
}

// TestScanYAMLLengths compares words of all lengths around those that are copied at once, also near the end of the text.
func TestScanYAMLLengths(t *testing.T) {
	for n := 1; n < 80; n++ {
		word := strings.Repeat("x", n)
		if text := word + ": " + word + "\nz:\n- " + word + "\n- '" + word + "'"; !compareScan(t, []byte(text)) {
			t.Errorf("%q is a doubt", text)
		}
	}
}

// mutantBytes are the bytes with which mutate replaces others.
const mutantBytes = " \n:-#'\"[]{}|>,?&*!%@`\t\\0a.1e~y=<\r\x80\xc3_+"

// mutate changes, inserts or removes one byte.
func mutate(r *rand.Rand, text []byte) []byte {
	at, b := r.IntN(len(text)), mutantBytes[r.IntN(len(mutantBytes))]
	switch mutant := bytes.Clone(text); r.IntN(3) {
	case 0:
		mutant[at] = b
		return mutant
	case 1:
		return append(mutant[:at], text[at+1:]...)
	default:
		return append(append(mutant[:at], b), text[at:]...)
	}
}

// TestScanYAMLGenerated compares generated documents and their mutants with the YAML library.
func TestScanYAMLGenerated(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count, read := 0, 0
	for range testenv.Volume(4000) {
		g := yamlGenerator{Rand: r}
		text := g.document()
		for range 2 {
			if count++; compareScan(t, text) {
				read++
			}
			text = mutate(r, text)
		}
	}
	if t.Logf("%d of %d documents are no doubts", read, count); read < count/2 {
		t.Errorf("%d of %d documents are doubts", count-read, count)
	}
}

func TestScanYAMLStops(t *testing.T) {
	text := []byte("a:\n" + strings.Repeat("- b\n", 100_000))
	for most, want := range map[int64]error{1 << 20: ErrStopped, 1 << 30: nil} {
		m := &meter{most: most}
		d := new(Doc)
		d.StopOn(m)
		if _, err := d.ParseYAML(text, Request, Limits{}); !errors.Is(err, want) || want != nil && len(d.Nodes) != 1 {
			t.Errorf("at most %d bytes: %v, %d nodes", most, err, len(d.Nodes))
		}
		if d.Release(); m.bytes != 0 {
			t.Errorf("%d bytes are left", m.bytes)
		}
	}
	d := Acquire()
	defer d.Release()
	d.StopOn(stopper(true))
	if _, err := d.ParseYAML(text, Request, Limits{}); !errors.Is(err, ErrStopped) {
		t.Errorf("stopped: %v", err)
	}
}

// TestScanYAMLReuses checks that what YAMLToJSON returns is not memory that a Doc reuses.
func TestScanYAMLReuses(t *testing.T) {
	json, y, err := YAMLToJSON([]byte("a: b\nc: [d]\n"), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if _, _, err := YAMLToJSON([]byte("\n\nx: y\nz: {z: z}\n"), Limits{}); err != nil {
			t.Fatal(err)
		}
	}
	if at := y.Position(Path{Name("c"), At(0)}); string(json) != `{"a":"b","c":["d"]}` || at != (Position{2, 5, 9}) {
		t.Errorf("%s, at %+v", json, at)
	}
}

// compareScan checks a document that the scanner reads against the YAML library: the text, the tree, and all positions.
// It returns false for a doubt.
func compareScan(t testing.TB, text []byte) (scanned bool) {
	t.Helper()
	limits := Limits{MaxBytes: maxScannedBytes}.WithDefaults()
	d, want := Acquire(), Acquire()
	defer d.Release()
	defer want.Release()
	got, root, ok, err := d.scanYAML(text, Request, limits.MaxDepth)
	if err != nil || !ok && (len(d.Nodes) != 1 || d.Nodes[0] != Node{} || len(d.Src[Arena]) > 0) {
		t.Fatalf("%q: %v, %d nodes are left", text, err, len(d.Nodes))
	}
	if !ok {
		return false
	}
	json, y, err := convertYAML(text, limits)
	if err != nil {
		t.Fatalf("%q: the scanner has %s, the library %v", text, got.json, err)
	}
	if y.strict != nil {
		t.Fatalf("%q: the scanner does not see %v", text, y.strict)
	}
	wantRoot, err := want.ParseFromYAML(json, y, Request, limits)
	if err != nil {
		t.Fatalf("%q: the scanner has %s, the parser %v", text, got.json, err)
	}
	if !bytes.Equal(got.json, json) {
		t.Fatalf("%q: JSON\n%s, want\n%s", text, got.json, json)
	}
	if len(d.Nodes) != len(want.Nodes) || root != wantRoot {
		t.Fatalf("%q: %d nodes from %d, want %d from %d", text, len(d.Nodes), root, len(want.Nodes), wantRoot)
	}
	for i := range d.Nodes {
		a, b := d.Nodes[i], want.Nodes[i]
		if a.KeySrc == Arena && b.KeySrc == Arena && d.Key(uint32(i)) == want.Key(uint32(i)) {
			a.Key = b.Key
		}
		if a.Flags&Escaped != 0 && a.Flags == b.Flags && d.Str(uint32(i)) == want.Str(uint32(i)) {
			a.Val = b.Val
		}
		if a != b {
			t.Fatalf("%q: node %d\n%+v, want\n%+v", text, i, a, b)
		}
	}
	var check func(i uint32, path Path)
	check = func(i uint32, path Path) {
		if a, b := got.Position(path), y.Position(path); a != b {
			t.Fatalf("%q: %v is at %+v, want %+v", text, path, a, b)
		}
		if a, b := got.KeyPosition(path), y.KeyPosition(path); a != b {
			t.Fatalf("%q: the key of %v is at %+v, want %+v", text, path, a, b)
		}
		for c := d.Nodes[i].First; c != 0; c = d.Nodes[c].Next {
			step := Name(d.Key(c))
			if d.Nodes[i].Kind == Array {
				step = At(int(d.Nodes[c].Key))
			}
			check(c, append(path, step))
		}
	}
	check(root, make(Path, 0, 16))
	return true
}
