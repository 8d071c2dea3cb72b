package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/crdeval/crdeval/server/reload"
)

// Options configure New.
type Options struct {
	TokenFile string // bearer tokens; "": no file
	File      string // the access file; "": every authenticated caller may do everything
	Issuer    Issuer
	// OptionalCertificates says that a client certificate is an alternative to a token. If not, clients with a token also
	// have a certificate.
	OptionalCertificates bool
	Now                  func() time.Time // nil: time.Now
	Log                  *slog.Logger     // nil: slog.Default()
}

// Control authenticates callers and authorizes their calls. The zero value permits every call.
type Control struct {
	tokens *reload.Value[tokens]  // nil: no token is accepted
	policy *reload.Value[*policy] // nil: no access file
	jwts   *jwtVerifier           // nil: no JWT is accepted
	either bool                   // Options.OptionalCertificates
	log    *slog.Logger

	mu   sync.Mutex
	held map[*func()]struct{} // checks of streams
}

// New reads all files. A file that is missing or invalid is an error.
func New(ctx context.Context, o Options) (c *Control, err error) {
	c = &Control{either: o.OptionalCertificates, log: cmp.Or(o.Log, slog.Default())}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.TokenFile != "" {
		c.tokens, err = reload.New([]string{o.TokenFile}, func(contents [][]byte) (tokens, error) {
			return parseTokens(contents[0], c.log)
		})
		if err != nil {
			return nil, fmt.Errorf("bearer tokens: %w", err)
		}
	}
	if o.File != "" {
		c.policy, err = reload.New([]string{o.File}, func(contents [][]byte) (*policy, error) {
			p, err := parsePolicy(contents[0])
			if err != nil {
				err = fmt.Errorf("%s: %w", o.File, err)
			}
			return p, err
		})
		if err != nil {
			return nil, fmt.Errorf("access file: %w", err)
		}
	}
	if o.Issuer.URL != "" {
		if c.jwts, err = newJWTVerifier(ctx, o.Issuer, o.Now, c.log); err != nil {
			return nil, fmt.Errorf("OIDC issuer: %w", err)
		}
	}
	return c, nil
}

// Run reads the files again every reload.Interval until ctx ends, and checks the open streams again.
func (c *Control) Run(ctx context.Context) {
	reload.Run(ctx, reload.Interval, func() { c.Reload(ctx) })
}

// Reload reads the files that have changed, and checks the open streams.
func (c *Control) Reload(ctx context.Context) {
	if c.tokens != nil {
		c.tokens.Poll(ctx, "the bearer tokens", c.log)
	}
	if c.policy != nil {
		c.policy.Poll(ctx, "the access file", c.log)
	}
	if c.jwts != nil {
		c.jwts.poll(ctx)
	}
	c.mu.Lock()
	checks := make([]func(), 0, len(c.held))
	for f := range c.held {
		checks = append(checks, *f)
	}
	c.mu.Unlock()
	for _, check := range checks { // also without a change: a JWT may have expired
		check()
	}
}

// Hold registers check to be called after each Reload, until release is called. Streams use it to check their caller
// again.
func (c *Control) Hold(check func()) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = map[*func()]struct{}{}
	}
	key := &check
	c.held[key] = struct{}{}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.held, key)
	}
}

// Enabled reports whether callers are authenticated by more than client certificates.
func (c *Control) Enabled() bool { return c.tokens != nil || c.jwts != nil || c.policy != nil }

// TakesTokens reports whether the server accepts bearer tokens. If not, it ignores the header Authorization.
func (c *Control) TakesTokens() bool { return c.tokens != nil || c.jwts != nil }

// Credentials are what a caller presents.
type Credentials struct {
	Authorization []string          // the values of the header
	Certificate   *x509.Certificate // the verified client certificate; nil: none
}

// Authenticate returns the identity of a caller. The error is an *Error.
//
// A bearer token takes precedence over a certificate. Without an access file, a server with tokens requires a token of
// every caller. With one, callers without credentials are accepted only if a binding names them.
func (c *Control) Authenticate(cr Credentials) (Identity, error) {
	if c.TakesTokens() && len(cr.Authorization) > 0 {
		return c.authenticateHeader(cr.Authorization)
	}
	if cr.Certificate != nil && (c.policy != nil || c.either || !c.TakesTokens()) {
		return CertificateIdentity(cr.Certificate), nil
	}
	switch {
	case c.policy == nil && !c.TakesTokens(), c.policy != nil && c.policy.Get().bindsAnonymous():
		return anonymous, nil
	case c.TakesTokens() && c.either:
		return Identity{}, unauthenticated("a client certificate or a valid bearer token is required: " +
			"send the header authorization: Bearer TOKEN")
	case c.TakesTokens():
		return Identity{}, unauthenticated("a valid bearer token is required: send the header authorization: Bearer TOKEN")
	}
	return Identity{}, unauthenticated("a client certificate is required: the access file gives no role to callers without credentials")
}

func (c *Control) authenticateHeader(values []string) (Identity, error) {
	scheme, token, _ := strings.Cut(values[0], " ")
	switch {
	case len(values) > 1:
		return Identity{}, unauthenticated("the call has several authorization headers: send one")
	case !strings.EqualFold(scheme, "bearer"):
		return Identity{}, unauthenticated("the header authorization is not a bearer token: send authorization: Bearer TOKEN")
	}
	if c.tokens != nil {
		if id, ok := c.tokens.Get()[sha256.Sum256([]byte(token))]; ok {
			return id, nil
		}
	}
	const dots = 2 // in a JWT
	if c.jwts != nil && strings.Count(token, ".") == dots {
		return c.jwts.verify(token)
	}
	if c.jwts != nil {
		return Identity{}, unauthenticated("the bearer token in the header authorization is unknown, and it is not a JWT: send a valid one")
	}
	return Identity{}, unauthenticated("the bearer token in the header authorization is unknown: send a valid one")
}

// Authorize returns an *Error if a caller may not call a method, such as /crdeval.v1.RegistryService/GetCrd, in a catalog.
// The error is the same for a catalog that does not exist.
func (c *Control) Authorize(id Identity, method, catalog string) error {
	if c.policy == nil {
		return nil
	}
	required, known := permissionFor(method)
	if !known {
		return denied(id, fmt.Sprintf("%q may not call %s: no role includes it", id.Name, Clip(method, maxNameInError)))
	}
	return c.Permit(id, path.Base(method), required, catalog)
}

// Permit returns an *Error if a caller lacks the required permission in a catalog. The error names the call. It is the
// same for a catalog that does not exist.
func (c *Control) Permit(id Identity, name string, required Permission, catalog string) error {
	if c.policy == nil || required == Identified || c.policy.Get().permissions(id, catalog)&required != 0 {
		return nil
	}
	catalog = Clip(catalog, maxNameInError)
	e := denied(id, fmt.Sprintf("%q may not call %s in the catalog %q: the role %s in this catalog is required",
		id.Name, name, catalog, rolesWith(required)))
	e.Metadata = map[string]string{"user": id.Name, "role": rolesWith(required), "catalog": catalog}
	return e
}

// denied returns the error of a caller that lacks a role: PermissionDenied, or Unauthenticated if the caller has sent
// no credentials.
func denied(id Identity, message string) *Error {
	return &Error{Unauthenticated: id.IsAnonymous(), Message: message}
}

// Sees reports whether a caller has a role in a catalog. One without a name has none.
func (c *Control) Sees(id Identity, catalog string) bool {
	return c.policy == nil || id.Name != "" && c.policy.Get().permissions(id, catalog) != 0
}

// Quota returns the quota of a catalog.
func (c *Control) Quota(catalog string) Quota {
	if c.policy == nil {
		return Quota{}
	}
	return c.policy.Get().quota(catalog)
}

// AsError returns the *Error in err's chain.
func AsError(err error) (*Error, bool) { return errors.AsType[*Error](err) }
