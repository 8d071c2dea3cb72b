package tree

import (
	"bytes"
	gojson "encoding/json"
	"strings"
	"testing"
)

func spansText(src string, spans []Span) string {
	var parts []string
	for _, s := range spans {
		parts = append(parts, src[s.Begin:s.End])
	}
	return strings.Join(parts, "|")
}

func TestPeekList(t *testing.T) {
	for src, want := range map[string]string{
		`{"kind":"List","items":[]}`: "List: ",
		" {\n\"items\" : [ {\"a\":[1,{}]} ,2, \"x\\\"]\" ],\n\"kind\":\"PodList\" , \"metadata\":{\"a\":[]}} \n": "PodList: {\"a\":[1,{}]}|2|\"x\\\"]\"",
		`{"kind":"List","items":[tru]}`: "List: tru", // the caller checks the elements
		`{"kind":"List"}`:               "", `{"items":[]}`: "", `[]`: "", ``: "", `{}`: "", `{"kind":"List","items":{}}`: "", `{"kind":1,"items":[]}`: "",
		`{"kind":"List","items":[1,]}`: "", `{"kind":"List","items":[,1]}`: "", `{"kind":"List","items":[1 2]}`: "", `{"kind":"List","items":[1`: "",
		`{"kind":"List","items":[]} {}`: "", `{"kind":"List","items":[]]`: "", `{"kind":"List","items":[],}`: "", `{"kind":"List","items":[]`: "",
		`{"kind":"List","items":[],"items":[1]}`: "", `{"kind":"List","\u0069tems":[],"items":[]}`: "", `{"kind":"List","items":[],"x":01}`: "",
		`{kind: List, items: []}`: "",
	} {
		kind, items, ok := PeekList([]byte(src))
		got := ""
		if ok {
			got = kind + ": " + spansText(src, items)
		}
		if got != want {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

func TestNextJSON(t *testing.T) {
	for src, want := range map[string]string{
		`{}`: "{}", " {} \n[1]{\"a\":\"}\"}\t": `{}|[1]|{"a":"}"}`, `{a: 1}`: "{a: 1}",
		"": "", "1": "1", "{} 1": "{}|1", "{} x\n": "{}|x", "{": "{", "{} {\"a": "{}|{\"a",
	} {
		if got := spansText(src, allJSON([]byte(src))); got != want {
			t.Errorf("%q: %q, want %q", src, got, want)
		}
	}
}

func allJSON(src []byte) (values []Span) {
	for v, ok := NextJSON(src, 0); ok; v, ok = NextJSON(src, v.End) {
		values = append(values, v)
	}
	return values
}

// FuzzPeekList compares PeekList and NextJSON with encoding/json.
func FuzzPeekList(f *testing.F) {
	f.Add([]byte(`{"apiVersion":"v1","kind":"List","items":[{"a":[1,"b"]},{}],"metadata":{}}`))
	f.Add([]byte("{\"kind\":\"List\",\n\"items\":[ 1 , null ]}{}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		valid := func(spans []Span) bool {
			for _, s := range spans {
				if !gojson.Valid(src[s.Begin:s.End]) {
					return false
				}
			}
			return true
		}
		var list struct {
			Kind  string              `json:"kind"`
			Items []gojson.RawMessage `json:"items"`
		}
		if kind, items, ok := PeekList(src); ok && valid(items) {
			if err := gojson.Unmarshal(src, &list); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.ToLower(string(src)), "\\u") && kind != list.Kind && bytes.Count(bytes.ToLower(src), []byte(`"kind"`)) == 1 {
				t.Errorf("kind %q, want %q", kind, list.Kind)
			}
			for i, s := range items {
				if len(list.Items) == len(items) && !bytes.Equal(src[s.Begin:s.End], list.Items[i]) {
					t.Errorf("item %d: %s, want %s", i, src[s.Begin:s.End], list.Items[i])
				}
			}
		}
		values := allJSON(src)
		if !valid(values) {
			return
		}
		decoder := gojson.NewDecoder(bytes.NewReader(src))
		for _, s := range values {
			var v gojson.RawMessage
			if err := decoder.Decode(&v); err != nil || !bytes.Equal(v, src[s.Begin:s.End]) {
				t.Errorf("%s, %v, want %s", v, err, src[s.Begin:s.End])
			}
		}
		if decoder.More() {
			t.Error("there are more values")
		}
	})
}
