package load

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// crossSite: requests that a page of another site can make a browser send to localhost.
func crossSite(l *load) {
	s := l.launch(launch{flags: []string{"--store=memory"}})
	created := 0
	for i, tc := range []struct {
		name    string
		host    string
		headers map[string]string
	}{
		{"form", "", map[string]string{"Content-Type": "application/x-www-form-urlencoded", "Origin": "http://evil.example"}},
		{"form without origin", "", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		{"text", "", map[string]string{"Content-Type": "text/plain", "Origin": "http://evil.example"}},
		{"multipart", "", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}},
		{"no media type", "", map[string]string{"Origin": "http://evil.example"}},
		{"opaque origin", "", map[string]string{"Content-Type": "application/json", "Origin": "null"}},
		{"JSON of another origin", "", map[string]string{"Content-Type": "application/json", "Origin": "http://evil.example"}},
		{"another host (DNS rebinding)", "evil.example", map[string]string{"Content-Type": "application/json"}},
		{"another host as origin", "evil.example", map[string]string{"Content-Type": "application/json", "Origin": "http://evil.example"}},
	} {
		request, err := http.NewRequestWithContext(l.Context(), http.MethodPost, "http://"+s.http+"/v1/catalogs",
			strings.NewReader(fmt.Sprintf(`{"catalog": "created-%d"}`, i)))
		if err != nil {
			l.Fatal(err)
		}
		request.Host = tc.host
		for name, value := range tc.headers {
			request.Header.Set(name, value)
		}
		response, err := s.web.Do(request)
		if err != nil {
			l.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		_, err = s.Registry().GetCatalog(l.Context(), &crdevalv1.GetCatalogRequest{Catalog: fmt.Sprintf("created-%d", i)})
		if err == nil {
			created++
			l.note("%s: created a catalog: %s %.80s", tc.name, response.Status, text)
		}
	}
	l.atMost("cross-site requests that created a catalog", float64(created), bound{0, 0}, "")
}
