package codec

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

func TestDocumentsAreVerbatim(t *testing.T) {
	const object = `{"apiVersion": "stable.example.com/v1", "n": 9007199254740993, "f": 1.0, "e": 1E+2, "s": "\u00e9\/"}`
	var r crdevalv1.ValidateRequest
	if err := Unmarshal([]byte(` { "items" : [ {"create": {"object" : `+object+` }, "crd":"c"}, {"create": {"object": null}}, {}, {"create":{"object":[]}} ] } `), &r, nil); err != nil {
		t.Fatal(err)
	}
	if got := string(r.GetItems()[0].GetCreate().GetObject().GetJson()); got != object {
		t.Errorf("the document became %s", got)
	}
	for i, want := range []bool{true, false, false, true} {
		if got := r.GetItems()[i].GetCreate().GetObject() != nil; got != want {
			t.Errorf("item %d: document present %v, want %v", i, got, want)
		}
	}
	answer := &crdevalv1.Violation{BadValue: &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: []byte("null")}}}
	text, err := Marshal(answer)
	if err != nil || !strings.Contains(string(text), `"badValue":null`) {
		t.Errorf("a null in an answer is %s (%v)", text, err)
	}
	if text, err = Marshal(&crdevalv1.Violation{}); err != nil || strings.Contains(string(text), "badValue") {
		t.Errorf("an absent document in an answer is %s (%v)", text, err)
	}
}

func TestAnswerSpelling(t *testing.T) {
	text, err := Marshal(&crdevalv1.ValidateResponse{Results: []*crdevalv1.VerdictResult{{
		Result: &crdevalv1.VerdictResult_Verdict{Verdict: &crdevalv1.Verdict{
			Violations: []*crdevalv1.Violation{{Type: "FieldValueInvalid", Field: "spec.<x>", Position: &crdevalv1.Position{Line: 1, Column: 2, Offset: 1 << 30}}},
		}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"results":[{"verdict":{"allowed":false,"violations":[{"type":"FieldValueInvalid","field":"spec.<x>","message":"","detail":"","pointer":"",` +
		`"schemaPointer":"","position":{"line":1,"column":2,"offset":1073741824},"step":"PIPELINE_STEP_UNSPECIFIED"}],"warnings":[],"ratcheted":[],"revision":"","deletes":false,"unchanged":false,"next":[]}}]}` + "\n"
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

func TestManifestBody(t *testing.T) {
	for _, c := range []struct{ body, want, err string }{
		{" {\"kind\": \"x\"}\n", `{"kind": "x"}`, ""},
		{"null", "", ""},
		{"", "", "empty"},
		{"{} {}", "", "something after the value"},
		{"{}x", "", "something after the value"},
		{`{"a":`, "", "ends inside"},
		{`{"a":"b`, "", "ends inside of a string"},
	} {
		var d *crdevalv1.Document
		err := Unmarshal([]byte(c.body), &d, nil)
		if got := string(d.GetJson()); got != c.want {
			t.Errorf("%q: document %q, want %q", c.body, got, c.want)
		}
		if (err == nil) != (c.err == "") || (err != nil && !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: error %v, want %q", c.body, err, c.err)
		}
	}
}

func TestBodyErrors(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{``, `the body is empty`},
		{`[]`, `line 1, column 1: an object is expected (ValidateRequest has asGiven, context, items)`},
		{"{\n  \"itemz\": []}", `line 2, column 3: unknown field "itemz": ValidateRequest has`},
		{`{"items":[{},{"objekt":{}}]}`, `column 15: items[1]: unknown field "objekt": WriteItem has`},
		{`{"items":[{"create":{"object":{},"object":{}}}]}`, `items[0].create: the field "object" is given twice`},
		{`{"items":[{"crd":5}]}`, `items[0].crd: a string is expected`},
		{`{"items":[null]}`, `items[0]: an object is expected`},
		{`{"items":{}}`, `items: an array is expected`},
		{`{"items":[{}`, `items[0]: a comma or a closing bracket is expected`},
		{`{"context":{"crds":[null]}}`, `context.crds[0]: null is not an element`},
		{`{"context":{"options":{"view":"OBJECT"}}}`, `context.options.view: one of OBJECT_VIEW_UNSPECIFIED, OBJECT_VIEW_FULL, OBJECT_VIEW_CHANGED, OBJECT_VIEW_NONE is expected`},
		{`{"context":{"options":{"itemTimeout":"soon"}}}`, `context.options.itemTimeout: "soon" is not a duration: write seconds, as in "0.001s" or "1.5s"`},
		{`{"context":{"options":{"itemTimeout":"1ms"}}}`, `context.options.itemTimeout: "1ms" is not a duration: write seconds, as in "0.001s"`},
		{"\ufeff{}", "there is a byte order mark before the JSON"},
		{`{"asGiven":"true"}`, `asGiven: true or false is expected`},
		{`{"asGiven":nul}`, `asGiven: "nul" is not a JSON value`},
		{`{"context":{"catalog":"a` + "\xff" + `"}}`, `context.catalog: the string is not UTF-8`},
		{`{"context":{"catalog":"a` + "\n" + `"}}`, `context.catalog: `},
		{`{"items":[]} true`, `something after the value`},
		{`{"items":[]`, `a comma or a closing brace is expected`},
		{`{"items" []}`, `a colon is expected after "items"`},
		{`{"items":[{"create":{"object":}}]}`, `items[0].create.object: a value is expected`},
		{`{"items":[{"create":{"object":{"a":[}`, `items[0].create.object: the text ends inside of a value`},
	} {
		var r crdevalv1.ValidateRequest
		err := Unmarshal([]byte(c.body), &r, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
	// protojson's two spellings of names and of numbers are both read.
	var r crdevalv1.ListCrdsRequest
	if err := Unmarshal([]byte(`{"page_size":"7","pageToken":null}`), &r, nil); err != nil || r.GetPageSize() != 7 {
		t.Errorf("got %v, %v", &r, err)
	}
}

// TestNumbers: numbers have the syntax of JSON, quoted or not.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		"30": true, "3.0e1": true, "-0": true, `"30"`: true, "030": false, ".3e2": false, "3.e1": false, "0x1Ep0": false, "+30": false, "1_0": false,
		`"030"`: false, `" 30"`: false, `"0x1E"`: false, "nul": false, "30.5": false,
	} {
		var r crdevalv1.ListCrdsRequest
		if err := Unmarshal([]byte(`{"pageSize":`+text+`}`), &r, nil); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]bool{"0.5": true, "-1E5": true, `"NaN"`: true, ".5": false, "5.": false, "00.5": false, "0x1p-2": false, "NaN": false, "Inf": false} {
		var r crdevalv1.RuleReport
		if err := Unmarshal([]byte(`{"shareOfLimit":`+text+`}`), &r, nil); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestFieldsGivenTwice: every field of a message is given once, however many fields the message has.
func TestFieldsGivenTwice(t *testing.T) {
	for _, mt := range allMessages() {
		for i := range mt.Descriptor().Fields().Len() {
			name := mt.Descriptor().Fields().Get(i).JSONName()
			if mt.Descriptor().FullName() == DocumentName {
				continue
			}
			err := Unmarshal(fmt.Appendf(nil, `{%q:null,%q:null}`, name, name), mt.New().Interface(), nil)
			if err == nil || !strings.Contains(err.Error(), "is given twice") {
				t.Errorf("%s of %s: %v", name, mt.Descriptor().FullName(), err)
			}
		}
	}
}

func BenchmarkDecodeBatch(b *testing.B) {
	item := `{"create":{"object":{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"my-new-cron-object","namespace":"default"},"spec":{"cronSpec":"* * * * */5","image":"my-awesome-cron-image","replicas":3}}}}`
	body := []byte(`{"items":[` + strings.Repeat(item+",", 99) + item + `]}`)
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var r crdevalv1.ValidateRequest
		if err := Unmarshal(body, &r, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeBatch(b *testing.B) {
	answer := &crdevalv1.ValidateResponse{}
	for range 100 {
		answer.Results = append(answer.Results, &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Verdict{
			Verdict: &crdevalv1.Verdict{Allowed: true, Revision: "sha256:0123456789012345678901234567890123456789012345678901234567890123"},
		}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Marshal(answer); err != nil {
			b.Fatal(err)
		}
	}
}

// TestSharedResults: a message that is several elements of a list is written as often.
func TestSharedResults(t *testing.T) {
	result := func(v *crdevalv1.Verdict) *crdevalv1.VerdictResult {
		return &crdevalv1.VerdictResult{Result: &crdevalv1.VerdictResult_Verdict{Verdict: v}}
	}
	a, b := result(&crdevalv1.Verdict{Allowed: true, Revision: "a"}), result(&crdevalv1.Verdict{Revision: "b"})
	list := []*crdevalv1.VerdictResult{a, a, b, b, b, a, b, a, a}
	var want []string
	for _, r := range list {
		text, err := Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, strings.TrimSpace(string(text)))
	}
	got, err := Marshal(&crdevalv1.ValidateResponse{Results: list})
	if text := `{"results":[` + strings.Join(want, ",") + "]}\n"; err != nil || string(got) != text {
		t.Errorf("%s, %v, want %s", got, err, text)
	}
}

// TestAnswersAreApart: answers are written into memory that is used again, and do not share it; large ones have their own.
func TestAnswersAreApart(t *testing.T) {
	marshal := func(text string) []byte {
		t.Helper()
		got, err := Marshal(&crdevalv1.ExplainResponse{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for _, size := range []int{1, 1000, 600 << 10, 3 << 20} {
		one := marshal(strings.Repeat("a", size))
		before := bytes.Clone(one)
		for range 10 {
			marshal(strings.Repeat("b", size))
			marshal(strings.Repeat("\n", size)) // twice as long as the message
		}
		if want := `{"text":"` + strings.Repeat("a", size) + "\"}\n"; !bytes.Equal(one, before) || string(one) != want {
			t.Errorf("an answer of %d bytes has changed", size)
		}
	}
}
