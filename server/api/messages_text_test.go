package api

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/engine"
)

// TestLongQuotes checks that texts keep their form, and that only long quoted values in them are cut.
func TestLongQuotes(t *testing.T) {
	long := strconv.Quote(strings.Repeat("ä\x1b\"\\", 100_000))
	many := strings.Repeat(`metadata.name: Invalid value: "a\"b": must be short, `, 5000)
	for _, text := range []string{"", `"`, many, many + `"`, "x: Invalid value: " + strings.Repeat("1", 100_000)} {
		if got := message(text); got != text {
			t.Errorf("%.60s… became %.60s…", text, got)
		}
	}
	text := `crds "a" is invalid: name: Invalid value: ` + long + `: too long, ` + many + long[:100_000]
	got := message(text)
	if len(got) > len(many)+3*maxQuotedValue || !strings.HasPrefix(got, text[:1000]) || strings.Count(got, "bytes left out") != 2 || !strings.Contains(got, `": too long, `+many) {
		t.Errorf("%d bytes: %.200s", len(got), got)
	}
	v := violation(&engine.Violation{Message: "Invalid value: " + long, Detail: "too long", BadValue: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)})
	var bad string
	if err := json.Unmarshal(v.GetBadValue().GetJson(), &bad); err != nil || len(bad) > maxQuotedValue+100 || !strings.Contains(bad, "bytes left out") || len(v.GetMessage()) > maxQuotedValue+100 {
		t.Errorf("%v, %d bytes of %d", err, len(bad), len(v.GetMessage()))
	}
	list := []byte("[" + strings.Repeat("1,", 100_000) + "1]")
	if v := violation(&engine.Violation{BadValue: list}); string(v.GetBadValue().GetJson()) != string(list) {
		t.Error("a list was cut")
	}
}

// TestPositionBounds: the body of a REST stream may be larger than the offset of a position.
func TestPositionBounds(t *testing.T) {
	last := &engine.Position{Line: math.MaxInt32, Column: 1, Offset: math.MaxInt32 - 1}
	if p := position(last); p.GetLine() != math.MaxInt32 || p.GetOffset() != math.MaxInt32-1 {
		t.Errorf("the last position is %v", p)
	}
	if p := position(&engine.Position{Line: 1, Column: 1, Offset: math.MaxInt32}); p != nil {
		t.Errorf("the position beyond is %v", p)
	}
}
