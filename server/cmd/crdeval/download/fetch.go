package download

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"

	"github.com/crdeval/crdeval/server/netaddress"
)

// NewPublic returns a Reader that only connects to public addresses, also after redirects. It uses no proxy, because a
// proxy could connect to other addresses.
func NewPublic(userAgent string) *Reader {
	r := New(userAgent)
	dialer := net.Dialer{Timeout: timeout, Control: publicOnly}
	r.Client.Transport = &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}
	return r
}

// publicOnly returns an error for a connection to an address that is not public.
func publicOnly(_, dialed string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(dialed)
	if err == nil && !netaddress.IsPublic(at.Addr()) {
		err = fmt.Errorf("the host has the address %s, which is not public: use --allow-private if you trust the URL",
			at.Addr())
	}
	return err
}

// Fetch returns the content of an https:// URL without the cache.
func (r *Reader) Fetch(ctx context.Context, address string) ([]byte, error) {
	content, _, err := r.get(ctx, address, "")
	if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" && ctx.Err() == nil {
		err = op.Err // without the address, which is in it
	}
	return content, err
}

// CheckURL returns an error for a text that is not an https:// URL with a host and without a fragment.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "":
		return errors.New("it is not an https:// URL")
	case u.User != nil:
		return errors.New("the URL has a user or a password: remove them")
	case u.Fragment != "":
		return errors.New("the URL has a fragment: use sha256 for the digest")
	}
	return nil
}
