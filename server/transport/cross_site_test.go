package transport

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestCrossSite(t *testing.T) {
	local, other := CrossSite{Hosts: []string{"localhost", "crdeval.example"}}, CrossSite{}
	navigation := http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"navigate"}, "Sec-Fetch-Dest": {"document"}}
	for name, c := range map[string]struct {
		sites        CrossSite
		method, host string
		header       http.Header
		ok           bool
	}{
		"curl":                         {local, "POST", "localhost:8080", nil, true},
		"upper case and a final dot":   {local, "GET", "LOCALHOST.:8080", nil, true},
		"an address":                   {local, "GET", "127.0.0.1:8080", nil, true},
		"another loopback address":     {local, "GET", "127.1.2.3", nil, true},
		"IPv6":                         {local, "GET", "[::1]:8080", nil, true},
		"IPv6 without port":            {local, "GET", "[::1]", nil, true},
		"a configured name":            {local, "GET", "crdeval.example:80", nil, true},
		"HTTP/1.0":                     {local, "GET", "", nil, true},
		"DNS rebinding":                {local, "GET", "evil.example:8080", nil, false},
		"DNS rebinding with origin":    {local, "POST", "evil.example", http.Header{"Origin": {"http://evil.example"}, "Sec-Fetch-Site": {"same-origin"}}, false},
		"a name that has localhost":    {local, "GET", "localhost.evil.example", nil, false},
		"an address of the network":    {local, "GET", "192.0.2.1:8080", nil, false},
		"any address":                  {local, "GET", "0.0.0.0:8080", nil, false},
		"a proxy with another name":    {other, "POST", "evil.example", nil, true},
		"every name":                   {CrossSite{Hosts: []string{"localhost", "*"}}, "GET", "evil.example", nil, true},
		"a page of this server":        {local, "POST", "localhost:8080", http.Header{"Origin": {"http://localhost:8080"}}, true},
		"another port":                 {local, "POST", "localhost:8080", http.Header{"Origin": {"http://localhost:3000"}}, false},
		"another site":                 {other, "POST", "crdeval:8080", http.Header{"Origin": {"http://evil.example"}}, false},
		"an opaque origin":             {other, "POST", "crdeval", http.Header{"Origin": {"null"}}, false},
		"a GET of another site":        {other, "GET", "crdeval", http.Header{"Origin": {"http://evil.example"}}, false},
		"two origins":                  {other, "POST", "crdeval", http.Header{"Origin": {"http://crdeval", "http://evil.example"}}, false},
		"cross-site":                   {other, "POST", "crdeval", http.Header{"Sec-Fetch-Site": {"cross-site"}}, false},
		"same-site":                    {other, "POST", "crdeval", http.Header{"Sec-Fetch-Site": {"same-site"}}, false},
		"an image":                     {other, "GET", "crdeval", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Sec-Fetch-Mode": {"no-cors"}}, false},
		"same-origin":                  {other, "POST", "crdeval", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true},
		"typed by the user":            {other, "GET", "crdeval", http.Header{"Sec-Fetch-Site": {"none"}}, true},
		"a followed link":              {other, "GET", "crdeval", navigation, true},
		"a submitted form":             {other, "POST", "crdeval", navigation, false},
		"a followed link after rebind": {local, "GET", "evil.example", navigation, false},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, "/v1/catalogs", http.NoBody)
		r.Host = c.host
		for k, v := range c.header {
			r.Header[k] = v
		}
		if err := c.sites.Check(r); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
