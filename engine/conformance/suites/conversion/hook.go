package conversion

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"

	"github.com/crdeval/crdeval/engine/convert"

	"github.com/crdeval/crdeval/engine"
)

// script is the annotation that tells the webhook how to convert an object: VERSION=BEHAVIOUR, comma-separated. The
// version is the one to convert to, or "*".
const script = "script"

// hook is the conversion webhook of a CRD. It counts what it does for upstream, and records what it receives.
type hook struct {
	server   *httptest.Server
	bundle   []byte
	rules    *engine.Definition // converts by its conversion rules; may be nil
	mu       sync.Mutex
	received map[string]bool // desired version and object
	done     map[string]int  // calls by behaviour
}

// call is one request to the webhook.
type call struct {
	apiVersion, uid, desired string
	objects                  []json.RawMessage
}

// newHook starts a webhook. The caller must call close.
func newHook() *hook {
	h := &hook{}
	h.record()
	h.server = httptest.NewUnstartedServer(h)
	pair, bundle := certificate()
	h.bundle = bundle
	h.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	h.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.server.StartTLS()
	return h
}

func (h *hook) close() { h.server.Close() }

// url is the URL in the CRD.
func (h *hook) url() string { return h.server.URL + "/convert" }

// record begins a new record, and returns the previous one. Without a hook there are no records.
func (h *hook) record() (received map[string]bool, done map[string]int) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	received, done = h.received, h.done
	h.received, h.done = map[string]bool{}, map[string]int{}
	return received, done
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var review struct {
		APIVersion, Kind string
		Request          struct {
			UID, DesiredAPIVersion string
			Objects                []json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &review); err != nil || review.Kind != "ConversionReview" {
		http.Error(w, "this is not a ConversionReview: "+string(body), http.StatusTeapot)
		return
	}
	c := &call{review.APIVersion, review.Request.UID, review.Request.DesiredAPIVersion, review.Request.Objects}
	converted := make([]json.RawMessage, len(c.objects))
	answer := honestly
	for i, object := range c.objects {
		name := honest
		if h.rules == nil {
			name = behaviourOf(object, c.desired)
			converted[i] = c.convert(object, name)
		} else if converted[i], err = c.convertByRules(r.Context(), h.rules, object); err != nil {
			answer = response("result", map[string]any{"status": "Failure", "message": err.Error()})
		}
		if made, found := reviews[name]; found {
			answer = made
		}
		h.mu.Lock()
		h.done[name]++
		h.received[c.desired+" "+plain(string(reprint(object)))] = true
		h.mu.Unlock()
	}
	answer(w, c, converted)
}

// behaviourOf returns how an object is to be converted to a version.
func behaviourOf(text json.RawMessage, desired string) string {
	var o struct {
		Metadata struct{ Annotations map[string]any }
	}
	_ = json.Unmarshal(text, &o) // the metadata of an object can be of any type
	list, _ := o.Metadata.Annotations[script].(string)
	_, version, _ := strings.Cut(desired, "/")
	for entry := range strings.SplitSeq(list, ",") {
		if to, name, _ := strings.Cut(entry, "="); to == version || to == "*" {
			return name
		}
	}
	return honest
}

// convert converts an object honestly, and then changes it.
func (c *call) convert(text json.RawMessage, name string) json.RawMessage {
	o, err := parse(text)
	if err != nil {
		return text
	}
	translate(o, c.desired)
	if lie, found := objects[name]; found {
		if made, replaced := lie(o, text).(json.RawMessage); replaced {
			return made
		}
	}
	return encode(o)
}

// convertByRules converts an object as crdeval does when it is the webhook.
func (c *call) convertByRules(ctx context.Context, d *engine.Definition, text json.RawMessage) (json.RawMessage, error) {
	_, version, _ := strings.Cut(c.desired, "/")
	return convert.Append(ctx, d, nil, text, version, true)
}

// translate converts an object: v1 has the color and an address, other versions have a shade, a host and a port.
func translate(o object, desired string) {
	o["apiVersion"] = desired
	spec, ok := o["spec"].(object)
	if !ok {
		return
	}
	from, to := "color", "shade"
	if strings.HasSuffix(desired, "/v1") {
		from, to = to, from
		if host, ok := spec["host"].(string); ok {
			port, _ := spec["port"].(json.Number)
			spec["address"] = host + ":" + cmp.Or(port.String(), "80")
			delete(spec, "host")
			delete(spec, "port")
		}
	} else if address, ok := spec["address"].(string); ok {
		host, port, _ := strings.Cut(address, ":")
		spec["host"] = host
		if json.Valid([]byte(port)) {
			spec["port"] = json.Number(port)
		}
		delete(spec, "address")
	}
	if v, found := spec[from]; found {
		spec[to] = v
		delete(spec, from)
	}
}

// object is a JSON object whose numbers are of type json.Number.
type object = map[string]any

func parse(text []byte) (o object, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return o, d.Decode(&o)
}

// encode returns JSON. Numbers keep their digits.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // it was parsed or is a literal
	}
	return bytes.TrimSpace(b.Bytes())
}

// reprint returns a document with sorted keys.
func reprint(text []byte) []byte {
	o, err := parse(text)
	if err != nil {
		return text
	}
	return encode(o)
}

// certificate returns the certificate of all webhooks, and its PEM.
var certificate = sync.OnceValues(func() (tls.Certificate, []byte) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "webhook"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
		NotBefore:   time.Unix(0, 0), NotAfter: time.Now().AddDate(1, 0, 0), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
})
