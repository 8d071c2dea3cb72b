package conversion

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/sony/gobreaker/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// client calls one webhook.
type client struct {
	*rest.RESTClient
	host    string // host:port
	idle    func() // closes idle connections
	breaker *gobreaker.CircuitBreaker[any]
	works   atomic.Bool             // the last call was not an outage
	last    atomic.Pointer[failure] // the last outage
}

// client returns the client of a webhook. The error is a failure with Forbidden if its host may not be called.
func (c *Client) client(w *apiextensionsv1.WebhookClientConfig) (*client, error) {
	key, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	if known, ok := c.clients.Get(string(key)); ok {
		return known, nil
	}
	made, err := c.connect(w)
	if err != nil {
		return nil, err
	}
	if known, found, _ := c.clients.PeekOrAdd(string(key), made); found {
		return known, nil
	}
	return made, nil
}

// connect makes the client of a webhook. It opens no connection.
//
// Upstream: apiserver pkg/util/webhook/client.go, hookClientConfig.
func (c *Client) connect(w *apiextensionsv1.WebhookClientConfig) (*client, error) {
	config := &rest.Config{QPS: -1, Timeout: c.o.Timeout} // errors contain the timeout, as a parameter of the URL
	config.CAData = bytes.TrimSpace(w.CABundle)
	config.NextProtos = []string{"http/1.1"}  // as an API server; HTTP/2 would reuse one connection
	config.WarningHandler = rest.NoWarnings{} // client-go would not log them with slog
	config.NegotiatedSerializer, config.ContentType = c.codecs, runtime.ContentTypeJSON
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // its address would be checked instead
	u, err := address(w)
	if err != nil {
		return nil, err
	}
	config.Host, config.APIPath = u.Scheme+"://"+u.Host, u.Path
	host := normal(u.Host)
	if w.Service != nil {
		config.ServerName = u.Hostname()
	} else if u.Port() == "" {
		host = net.JoinHostPort(normal(u.Hostname()), "443")
	}
	config.Dial = c.o.Hosts.dial
	if mapped := c.mapped(w.Service, u.Port()); mapped != "" {
		d := net.Dialer{Timeout: dialTimeout}
		config.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return d.DialContext(ctx, network, mapped)
		}
	} else if err := c.o.Hosts.check(host); err != nil {
		return nil, err
	}
	made := &client{host: host, breaker: newBreaker()}
	var transport *http.Transport
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		transport = transportOf(next)
		// Connections can outlive their calls.
		transport.MaxResponseHeaderBytes, transport.MaxConnsPerHost = maxHeaderBytes, int(c.load.maxCalls[1])
		if c.o.Certificate != "" { // client-go would watch the files for each webhook
			transport.TLSClientConfig.GetClientCertificate = c.certificate
		}
		return &guard{next, host, c}
	})
	if c.o.Transport != nil {
		config.Wrap(c.o.Transport)
	}
	h, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	made.idle = transport.CloseIdleConnections
	made.RESTClient, err = rest.UnversionedRESTClientForConfigAndClient(config, h)
	return made, err
}

// certificate returns the client certificate.
func (c *Client) certificate(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	pair, err := tls.LoadX509KeyPair(c.o.Certificate, c.o.Key)
	return &pair, err
}

// address returns the URL of a webhook. A service always has a port.
func address(w *apiextensionsv1.WebhookClientConfig) (*url.URL, error) {
	switch {
	case w.Service != nil:
		port := 443
		if w.Service.Port != nil && *w.Service.Port != 0 {
			port = int(*w.Service.Port)
		}
		name := w.Service.Name + "." + w.Service.Namespace + ".svc"
		u := &url.URL{Scheme: "https", Host: net.JoinHostPort(name, strconv.Itoa(port))}
		if w.Service.Path != nil {
			u.Path = *w.Service.Path
		}
		return u, nil
	case w.URL != nil:
		u, err := url.Parse(*w.URL)
		if err != nil {
			return nil, fmt.Errorf("invalid URL: %w", err)
		}
		return u, nil
	}
	return nil, errors.New("the webhook has neither a service nor a URL")
}

// mapped returns the address of a service in Options.Services, or "".
func (c *Client) mapped(s *apiextensionsv1.ServiceReference, port string) string {
	if s == nil {
		return ""
	}
	name := s.Namespace + "/" + s.Name
	if address, found := c.o.Services[name+":"+port]; found {
		return address
	}
	return c.o.Services[name]
}

// maxHeaderBytes bounds the headers of a response.
const maxHeaderBytes = 64 << 10

// transportOf returns the transport that opens connections.
func transportOf(r http.RoundTripper) *http.Transport {
	for {
		if t, ok := r.(*http.Transport); ok {
			return t
		}
		r = r.(utilnet.RoundTripperWrapper).WrappedRoundTripper()
	}
}
