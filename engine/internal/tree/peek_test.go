package tree

import "testing"

func TestTypeMetaHead(t *testing.T) {
	for _, c := range []struct{ text, head string }{
		{`{"apiVersion":"v1","kind":"Pod","a":1}`, `{"apiVersion":"v1","kind":"Pod"`},
		{` { "kind" : "Pod" , "apiVersion" : "v1" } `, ` { "kind" : "Pod" , "apiVersion" : "v1"`},
		{`{"apiVersion":"v1","kind":"Pod`, ``},
		{`{"apiVersion":"v1","a":1,"kind":"Pod"}`, ``},
		{`{"apiVersion":"v1","apiVersion":"v2","kind":"Pod"}`, ``},
		{`{"apiVersion":"v1","kind":null}`, ``},
		{`{"apiVersion":"v1","kin\u0064":"Pod"}`, ``},
		{`{"apiVersion":"v1","kind":"Po\u0064"}`, ``},
		{`{"apiVersion":"v1"}`, ``},
		{`{`, ``},
		{`[]`, ``},
		{``, ``},
	} {
		head, apiVersion, kind := TypeMetaHead([]byte(c.text))
		if string(head) != c.head || head != nil && (apiVersion != "v1" || kind != "Pod") {
			t.Errorf("%s: %q, %q, %q, want %q", c.text, head, apiVersion, kind, c.head)
		}
	}
}

func TestPeekTypeMeta(t *testing.T) {
	for _, c := range []struct {
		text, apiVersion, kind string
		ok                     bool
	}{
		{`{"apiVersion":"v1","kind":"Pod"}`, "v1", "Pod", true},
		{" {\n \"kind\" : \"é\" , \"x\":[{\"kind\":\"no\"},\"}\\\"]\",1.5e3], \"apiVersion\":\"\" } ", "", "é", true},
		{`{"kind":"A","apiVersion":"v1","kind":"B"}`, "v1", "B", true},
		{`{"kind":"A","apiVersion":"v1","a":tru,"b":[}}`, "v1", "A", true}, // a full parse rejects it
		{`{"kind":"A","apiVersion":"v1"} x`, "", "", false},
		{`{"kind":"A","apiVersion":"v1"`, "", "", false},
		{`{"kind":"A","apiVersion":"v1","\u006bind":"B"}`, "", "", false},
		{`{"kind":"\u0041","apiVersion":"v1"}`, "", "", false},
		{"{\"kind\":\"\xff\",\"apiVersion\":\"v1\"}", "", "", false},
		{`{"kind":null,"apiVersion":"v1"}`, "", "", false},
		{`{"kind":"A"}`, "", "", false},
		{`{}`, "", "", false},
		{`[]`, "", "", false},
		{``, "", "", false},
		{`{"kind":"A",`, "", "", false},
		{`{"a":"`, "", "", false},
		{`{"a":[`, "", "", false},
	} {
		apiVersion, kind, ok := PeekTypeMeta([]byte(c.text))
		if ok != c.ok || ok && (apiVersion != c.apiVersion || kind != c.kind) {
			t.Errorf("%s: %q, %q, %v", c.text, apiVersion, kind, ok)
		}
	}
}
