package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	lru "github.com/hashicorp/golang-lru/v2"

	kjson "sigs.k8s.io/json"

	"github.com/crdeval/crdeval/server/reload"
)

// Issuer configures the JWTs of an OIDC issuer.
type Issuer struct {
	URL            string   // the iss of tokens; "": JWTs are not accepted
	Audiences      []string // the aud of tokens includes one of them
	UsernameClaim  string   // "": sub
	UsernamePrefix string   // "": the URL and '#', except for the claim email; "-": no prefix
	GroupsClaim    string   // "": tokens have no groups
	GroupsPrefix   string   // groups that begin with "system:" after that are ignored
	JWKSFile       string   // has the keys; "": they are read from the issuer
	CA             string   // PEM file with the CAs of the issuer; "": those of the system
}

// Validate checks the settings.
func (o *Issuer) Validate() error {
	switch {
	case o.URL == "" && (len(o.Audiences) > 0 || o.JWKSFile != ""):
		return errors.New("the URL of the issuer is required")
	case o.URL == "":
		return nil
	case !strings.HasPrefix(o.URL, "https://"):
		return fmt.Errorf("%q does not begin with https://", o.URL)
	case len(o.Audiences) == 0:
		return errors.New("an audience is required: tokens for other services would be accepted")
	case strings.HasPrefix(o.UsernamePrefix, reserved), strings.HasPrefix(o.GroupsPrefix, reserved):
		return errors.New("a prefix of names begins with system:, which is reserved for Kubernetes: choose another one")
	}
	return nil
}

// Bounds of JWTs.
const (
	clockSkew     = 30 * time.Second // a token is accepted for this time after its expiry
	maxVerified   = 4096             // number of cached verified tokens
	maxJWKSBytes  = 1 << 20
	fetchTimeout  = 10 * time.Second
	fetchInterval = 10 * time.Minute // keys are read again after this time
	maxNameBytes  = 256
)

// algorithms are the accepted signature algorithms of JWTs. All are asymmetric.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

func algorithmNames() (names []string) {
	for _, a := range algorithms {
		names = append(names, string(a))
	}
	return names
}

// jwtVerifier verifies the JWTs of an issuer.
type jwtVerifier struct {
	Issuer
	now      func() time.Time
	log      *slog.Logger
	verifier *oidc.IDTokenVerifier
	verified *lru.Cache[[sha256.Size]byte, verifiedToken]
	file     *reload.Value[*keySet] // nil: the keys are fetched
	fetched  atomic.Pointer[keySet] // nil until then
	stale    atomic.Bool            // a token was signed with an unknown key
	client   *http.Client
	fetches  fetches
}

// verifiedToken is a token whose signature need not be verified again.
type verifiedToken struct {
	id     Identity
	expiry time.Time
	keys   *keySet // with which it was verified
}

func newJWTVerifier(ctx context.Context, o Issuer, now func() time.Time, log *slog.Logger) (*jwtVerifier, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	v := &jwtVerifier{Issuer: o, now: now, log: log}
	v.verified, _ = lru.New[[sha256.Size]byte, verifiedToken](maxVerified) // fails only for a size below 1
	v.verifier = oidc.NewVerifier(o.URL, v, &oidc.Config{
		SkipClientIDCheck:    true, // verify checks the audiences
		SupportedSigningAlgs: algorithmNames(), Now: func() time.Time { return now().Add(-clockSkew) },
	})
	if o.JWKSFile != "" {
		var err error
		v.file, err = reload.New([]string{o.JWKSFile}, func(contents [][]byte) (*keySet, error) { return parseKeys(contents[0]) })
		return v, err
	}
	if err := v.connect(); err != nil {
		return nil, err
	}
	v.poll(ctx)
	return v, nil
}

// connect creates the HTTP client.
func (v *jwtVerifier) connect() error {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // of the standard library
	if v.CA != "" {
		text, err := os.ReadFile(v.CA)
		if err != nil {
			return err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return fmt.Errorf("the file %s has no certificate", v.CA)
		}
		transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: pool}
	}
	v.client = &http.Client{Transport: transport, Timeout: fetchTimeout}
	return nil
}

func (v *jwtVerifier) keys() *keySet {
	if v.file != nil {
		return v.file.Get()
	}
	return v.fetched.Load()
}

// VerifySignature implements oidc.KeySet. It never fetches keys: gRPC authenticates calls on the goroutine that reads
// their connection, and callers can invent key IDs.
func (v *jwtVerifier) VerifySignature(ctx context.Context, jwt string) (payload []byte, err error) {
	c := ctx.Value(checkKey{}).(*check) //nolint:forcetypeassert // of verify
	keys := v.keys()
	if keys == nil {
		c.problem = "cannot be verified, because the server has not yet read the keys of the issuer: send it again later"
		return nil, errors.New("the keys of the issuer are not loaded yet")
	}
	if payload, err = keys.verify(jwt); err != nil {
		v.stale.Store(true)
		c.problem = "is not signed with a key of the configured issuer: send one of this issuer"
		return nil, err
	}
	c.problem, err = v.checkClaims(payload)
	return payload, err
}

// check has what a caller may know about a token that is rejected.
type check struct{ problem string }

type checkKey struct{}

// checkClaims returns what is wrong with the claims of a token with a valid signature. The library accepts repeated
// claims, and numbers as strings.
func (v *jwtVerifier) checkClaims(payload []byte) (problem string, err error) {
	var claims map[string]any
	strict, err := kjson.UnmarshalStrict(payload, &claims)
	if err = cmp.Or(err, errors.Join(strict...)); err != nil {
		return "has claims that are not a JSON object, or a claim twice", err
	}
	for _, claim := range []string{"exp", "nbf", "iat"} {
		switch claims[claim].(type) {
		case nil, int64, float64:
		default:
			return "has a claim " + claim + " that is not a number", errors.New("the claim " + claim + " is not a number")
		}
	}
	if claims["iss"] != v.URL {
		return "is of another issuer: its claim iss is not the configured issuer", nil
	}
	return "is not yet valid: its claim nbf is in the future", nil
}

// verify returns the identity of a JWT.
func (v *jwtVerifier) verify(token string) (Identity, error) {
	digest, keys := sha256.Sum256([]byte(token)), v.keys()
	if known, ok := v.verified.Get(digest); ok && known.keys == keys && v.now().Add(-clockSkew).Before(known.expiry) {
		return known.id, nil
	}
	c := check{"is not a JWT with an accepted signature algorithm"}
	parsed, err := v.verifier.Verify(context.WithValue(context.Background(), checkKey{}, &c), token)
	if err != nil {
		if _, expired := errors.AsType[*oidc.TokenExpiredError](err); expired {
			c.problem = "has expired"
		}
		v.log.Debug("a JWT is rejected", "error", err)
		return Identity{}, unauthenticated("the bearer token " + c.problem)
	}
	if !slices.ContainsFunc(v.Audiences, func(a string) bool { return slices.Contains(parsed.Audience, a) }) {
		return Identity{}, unauthenticated("the bearer token is not for this server: its aud does not include the configured audience")
	}
	claims := map[string]any{}
	if err := parsed.Claims(&claims); err != nil {
		return Identity{}, unauthenticated("the claims of the bearer token are not a JSON object")
	}
	id, err := v.identity(claims)
	if err == nil {
		v.verified.Add(digest, verifiedToken{id, parsed.Expiry, keys})
	}
	return id, err
}

// identity returns the identity of verified claims.
func (v *jwtVerifier) identity(claims map[string]any) (Identity, error) {
	claim := cmp.Or(v.UsernameClaim, "sub")
	name, _ := claims[claim].(string)
	if name == "" || len(name) > maxNameBytes {
		return Identity{}, unauthenticated(fmt.Sprintf(
			"the claim %s of the bearer token is not a string of 1 to %d bytes", claim, maxNameBytes))
	}
	if verified, present := claims["email_verified"]; claim == "email" && present && verified != true {
		return Identity{}, unauthenticated("the email address in the bearer token is not verified")
	}
	if name = v.prefix(claim) + name; strings.HasPrefix(name, reserved) {
		return Identity{}, unauthenticated(fmt.Sprintf(
			"the user name in the claim %s of the bearer token begins with system:, which is reserved for Kubernetes: "+
				"set --oidc-username-prefix on the server, or use a token with another name", claim))
	}
	groups, err := v.groups(claims)
	if err != nil {
		return Identity{}, err
	}
	return authenticated(name, groups, FromJWT), nil
}

func (v *jwtVerifier) prefix(claim string) string {
	switch {
	case v.UsernamePrefix == "-", v.UsernamePrefix == "" && claim == "email":
		return ""
	case v.UsernamePrefix == "":
		return v.URL + "#"
	}
	return v.UsernamePrefix
}

func (v *jwtVerifier) groups(claims map[string]any) (groups []string, err error) {
	if v.GroupsClaim == "" || claims[v.GroupsClaim] == nil {
		return nil, nil
	}
	list, ok := claims[v.GroupsClaim].([]any)
	if !ok {
		list = []any{claims[v.GroupsClaim]}
	}
	for _, each := range list {
		group, ok := each.(string)
		if !ok || group == "" || len(group) > maxNameBytes {
			return nil, unauthenticated(fmt.Sprintf("the claim %s of the bearer token is not a list of group names", v.GroupsClaim))
		}
		if group = v.GroupsPrefix + group; !strings.HasPrefix(group, reserved) {
			groups = append(groups, group)
		}
	}
	return groups, nil
}

// fetches is the state of reading keys from the issuer. Only poll uses it.
type fetches struct {
	last    time.Time // successful
	url     string    // of the keys
	text    []byte
	failure string // as logged
}

// poll reads the keys if they are old, or if a token was signed with an unknown key.
func (v *jwtVerifier) poll(ctx context.Context) {
	if v.file != nil {
		v.file.Poll(ctx, "the keys of the OIDC issuer", v.log)
		return
	}
	f := &v.fetches
	if v.fetched.Load() != nil && !v.stale.Swap(false) && v.now().Sub(f.last) < fetchInterval {
		return
	}
	err := v.fetch(ctx)
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != f.failure {
		v.log.ErrorContext(ctx, "cannot read the keys of the OIDC issuer; known keys stay in use", "issuer", v.URL, "error", err)
	}
	f.failure = text
}

// fetch reads the keys from the issuer.
func (v *jwtVerifier) fetch(ctx context.Context) error {
	f := &v.fetches
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, v.client), fetchTimeout)
	defer cancel()
	if f.url == "" {
		provider, err := oidc.NewProvider(ctx, v.URL)
		if err != nil {
			return err
		}
		discovered := struct {
			URL string `json:"jwks_uri"`
		}{}
		if err := provider.Claims(&discovered); err != nil {
			return err
		}
		if !strings.HasPrefix(discovered.URL, "https://") {
			return fmt.Errorf("jwks_uri is %q: it must begin with https://", discovered.URL)
		}
		f.url = discovered.URL
	}
	text, err := v.get(ctx, f.url)
	if err != nil {
		f.url = "" // it may have changed
		return err
	}
	if v.fetched.Load() == nil || string(text) != string(f.text) {
		keys, err := parseKeys(text)
		if err != nil {
			return err
		}
		f.text = text
		v.fetched.Store(keys)
	}
	f.last = v.now()
	return nil
}

func (v *jwtVerifier) get(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := v.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxJWKSBytes+1))
	if err == nil && len(text) > maxJWKSBytes {
		err = fmt.Errorf("%s has more than %d bytes", url, maxJWKSBytes)
	}
	return text, err
}
