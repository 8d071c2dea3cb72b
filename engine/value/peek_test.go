package value

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
		if got := c.text[:TypeMetaHead([]byte(c.text))]; got != c.head {
			t.Errorf("%s: %q, want %q", c.text, got, c.head)
		}
	}
}
