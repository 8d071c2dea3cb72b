package transport

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/access"
)

// CrossSite rejects requests that web pages of other sites send through a browser.
type CrossSite struct {
	// Hosts are the accepted values of the header Host, without port. Loopback addresses are accepted too. Empty: every
	// Host is accepted.
	Hosts []string
}

// anyHost in CrossSite.Hosts accepts every Host.
const anyHost = "*"

// Check returns an *access.Error if another site has sent the request, else nil.
//
// Browsers let every page send some requests to any address, including localhost, with client certificates. They name
// the site of the page in Sec-Fetch-Site or Origin. With DNS rebinding, the name of the page resolves to an address of
// this host, so the page counts as the same site. But then Host contains the name of the page.
func (c CrossSite) Check(r *http.Request) error {
	if len(c.Hosts) > 0 && !c.acceptsHost(r.Host) {
		return crossSite("the header Host is %q, which is not a name of this server: use localhost, or add the name to --allowed-hosts", r.Host)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return nil
	case "":
	default:
		if isNavigation(r) {
			return nil
		}
		return crossSite("the request comes from a web page of another site (Sec-Fetch-Site: %s)", site)
	}
	for _, origin := range r.Header.Values("Origin") {
		if u, err := url.Parse(origin); err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host) {
			return crossSite("the request comes from a web page of another site (Origin: %s)", origin)
		}
	}
	return nil
}

func crossSite(format string, args ...any) error {
	return &access.Error{Message: fmt.Sprintf(format, args...)}
}

// isNavigation reports whether a user has followed a link. Such requests are accepted, because the page with the link
// cannot read the response.
func isNavigation(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Sec-Fetch-Mode") == "navigate" &&
		r.Header.Get("Sec-Fetch-Dest") == "document"
}

// acceptsHost reports whether a Host is a name of this server. It accepts an empty Host, which is possible in HTTP/1.0:
// browsers always send a Host.
func (c CrossSite) acceptsHost(host string) bool {
	if host == "" {
		return true
	}
	name := host
	if without, _, err := net.SplitHostPort(host); err == nil {
		name = without
	}
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if ip, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(c.Hosts, func(h string) bool { return h == anyHost || strings.EqualFold(h, name) })
}
