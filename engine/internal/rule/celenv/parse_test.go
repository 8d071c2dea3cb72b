package celenv

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/cel-go/common"
)

// expressions are seeds of FuzzParse. It reports which of them are not a doubt.
var expressions = map[string]bool{
	`self.a`: true, `!has(self.minReplicas) || self.minReplicas <= self.replicas`: true,
	`self.env.all(e, e.name != 'PATH')`: true, `a && b && c || d || e && f || (g && h)`: true,
	`a ? b : c ? d : -1`: true, `-a - -1 * 2 % 3 / b + 007`: true, `!!a`: true, `!!!a.b()`: true, `- 1`: true, `-1.b()`: true,
	`[1, 2, [3]].map(x, x > 1, x + 1)[0] in {'a': 1, b: [], f(x, y): {}}`:                              true,
	`x.exists_one(y, y == null) && x.existsOne(y, y.z == true) || x.filter(y, y != false).size() >= 2`: true,
	"a\n.b\t\r\f(c)": true, `self.matches(r'^\d+$') == "\"\\\n\r\t'"`: true, `cel.bind(x, self.a, x + x)`: true,
	`x.all(i, v, i < v)`: true, `x.transformMap(k, v, v + 1)`: true, `has(a)`: false, `x.sortBy(y, y.z)`: false, `''`: true,
	`a.?b`: false, `a[?b]`: false, `[?a]`: false, `1.5`: false, `1u`: false, `0x1`: false, `b'a'`: false, `'''a'''`: false,
	`a // b`: false, `'ä'`: false, `.a`: false, `A{b: c}`: false, "a.`b`": false, `--1`: false, `a b`: false, `(a`: false,
	`while`: false, `a.in`: false, `99999999999999999999`: false, `'\x41'`: false, `a = b`: false, `[a,]`: false, ``: false,
	// The deepest expressions, which cel-go accepts, and deeper ones.
	repeated("(", "a", ")", 199): true, repeated("(", "a", ")", 200): false,
	repeated("", "a", ".b", 199): true, repeated("", "a", ".b", 200): false,
	repeated("f(", "a", ")", 199): true, repeated("f(", "a", ")", 200): false,
	repeated("a[", "a", "]", 99): true, repeated("[", "a", "]", 199): true,
	repeated("", "1", " + 1", 99): true, repeated("", "1", " + 1", 100): false,
	repeated("", "1", " < 1", 99): true, repeated("a ? a : ", "a", "", 199): true,
	repeated("", "a.b", " && a.b", 999): true, repeated("a.b || ", "a", "", 999): true,
	`r"""""" + R'''a'b''c\n''' + r"""^\d"""`: true, "r'''a\n'''.b(r'')": true, `r"""a""""`: false, `r"""a`: false, "r'''\r'''": false,
	`optional.of(a).optMap(x, x)`: false, `a.while`: true, `in.a`: false, `!-1`: false, `1 < 2 == true`: true, `'a\`: false,
}

func repeated(before, between, after string, n int) string {
	return strings.Repeat(before, n) + between + strings.Repeat(after, n)
}

// TestParseLongText checks that cel-go's parser decides on long texts, which it rejects.
func TestParseLongText(t *testing.T) {
	text := "a" + strings.Repeat(" + a", 100_000/4)
	if _, issues := Stored().Parse(text, common.NewTextSource(text)); issues.Err() == nil {
		t.Error("a text beyond the limit of cel-go is parsed")
	}
	text = "a" + strings.Repeat(" ", 99_999)
	if _, issues := Stored().Parse(text, common.NewTextSource(text)); issues.Err() != nil {
		t.Error(issues.Err())
	}
}

func FuzzParse(f *testing.F) {
	for text := range expressions {
		f.Add(text)
	}
	e := Stored()
	f.Fuzz(func(t *testing.T, text string) {
		source := common.NewTextSource(text)
		got := e.Parser.Parse(text, source)
		if fast, seed := expressions[text]; seed && fast != (got != nil) {
			t.Errorf("%q: doubt %v", text, got == nil)
		}
		if got == nil {
			return
		}
		want, issues := e.Base.ParseSource(source)
		if issues.Err() != nil {
			t.Fatalf("%q: cel-go finds %v", text, issues.Err())
		}
		if !reflect.DeepEqual(got, want.NativeRep()) {
			t.Errorf("%q: ours is\n%v\n%v\ncel-go's\n%v\n%v", text, got, got.SourceInfo(),
				want.NativeRep(), want.NativeRep().SourceInfo())
		}
	})
}
