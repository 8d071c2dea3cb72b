package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
)

var quiet = slog.New(slog.DiscardHandler)

// put writes a file in a new directory and returns its path.
func put(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestParseTokens(t *testing.T) {
	var logged bytes.Buffer
	all, err := parseTokens([]byte("# comment\n\n  bare \nt1,alice,1\nt2, bob , 2 ,\"devs, ops\"\nt2,bob,2,devs\n"), quiet)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v, %v", all, err)
	}
	names := map[string]bool{}
	for _, id := range all {
		names[id.Name] = true
		if !slices.Contains(id.Groups, Authenticated) || id.Source != FromToken {
			t.Errorf("%+v", id)
		}
	}
	if len(names) != 3 || !names["alice"] {
		t.Errorf("%v", names)
	}
	for name, text := range map[string]string{
		"two columns": "secret,alice", "no user": "secret,,1", "no token": ",alice,1", "five columns": "secret,a,b,c,d", "a quote": "secret,\"a,1",
		"two users": "secret,alice,1\nsecret,bob,2",
	} {
		if _, err := parseTokens([]byte(text), quiet); err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if all, err := parseTokens(nil, slog.New(slog.NewTextHandler(&logged, nil))); err != nil || len(all) != 0 || !strings.Contains(logged.String(), "no tokens") {
		t.Errorf("an empty file: %v, %v, %s", all, err, &logged)
	}
}

// TestAuthenticate checks which credentials are accepted, with each combination of settings.
func TestAuthenticate(t *testing.T) {
	tokenFile, withAnonymous := put(t, "t1,alice,1,devs\n"), put(t, "bindings: [{role: reader, catalogs: ['*'], users: ['system:anonymous']}]")
	file := put(t, "bindings: [{role: reader, catalogs: ['*'], users: [alice]}]")
	certificate := &x509.Certificate{Subject: pkix.Name{CommonName: "carol", Organization: []string{"ops"}}}
	for name, c := range map[string]struct {
		options Options
		headers []string
		cert    *x509.Certificate
		want    string // the name, or "" for an error
	}{
		"open":                                {want: Anonymous},
		"open, with a header":                 {headers: []string{"Bearer x"}, want: Anonymous},
		"open, with a certificate":            {cert: certificate, want: "carol"},
		"tokens":                              {options: Options{TokenFile: tokenFile}, headers: []string{"Bearer t1"}, want: "alice"},
		"tokens, case of the scheme":          {options: Options{TokenFile: tokenFile}, headers: []string{"bEARER t1"}, want: "alice"},
		"tokens, none":                        {options: Options{TokenFile: tokenFile}},
		"tokens, only a certificate":          {options: Options{TokenFile: tokenFile}, cert: certificate},
		"optional, only a certificate":        {options: Options{TokenFile: tokenFile, OptionalCertificates: true}, cert: certificate, want: "carol"},
		"optional, a token and a certificate": {options: Options{TokenFile: tokenFile, OptionalCertificates: true}, headers: []string{"Bearer t1"}, cert: certificate, want: "alice"},
		"optional, a wrong token":             {options: Options{TokenFile: tokenFile, OptionalCertificates: true}, headers: []string{"Bearer t2"}, cert: certificate},
		"optional, nothing":                   {options: Options{TokenFile: tokenFile, OptionalCertificates: true}},
		"tokens, unknown":                     {options: Options{TokenFile: tokenFile}, headers: []string{"Bearer t2"}},
		"tokens, unknown and a certificate":   {options: Options{TokenFile: tokenFile, File: file}, headers: []string{"Bearer t2"}, cert: certificate},
		"tokens, twice":                       {options: Options{TokenFile: tokenFile}, headers: []string{"Bearer t1", "Bearer t1"}},
		"file, a certificate":                 {options: Options{TokenFile: tokenFile, File: file}, cert: certificate, want: "carol"},
		"file, a token and a certificate":     {options: Options{TokenFile: tokenFile, File: file}, headers: []string{"Bearer t1"}, cert: certificate, want: "alice"},
		"file, nothing":                       {options: Options{File: file}},
		"file with anonymous, nothing":        {options: Options{TokenFile: tokenFile, File: withAnonymous}, want: Anonymous},
		"file with anonymous, a wrong token":  {options: Options{TokenFile: tokenFile, File: withAnonymous}, headers: []string{"Bearer t2"}},
		"file with anonymous, an empty value": {options: Options{TokenFile: tokenFile, File: withAnonymous}, headers: []string{""}},
	} {
		c.options.Log = quiet
		control, err := New(t.Context(), c.options)
		if err != nil {
			t.Fatal(err)
		}
		id, err := control.Authenticate(Credentials{Authorization: c.headers, Certificate: c.cert})
		if id.Name != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %+v, %v", name, id, err)
		}
		if e, ok := AsError(err); err != nil && (!ok || !e.Unauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	keys := put(t, jwks(t, newKey(t, "1")))
	for name, o := range map[string]Options{
		"no tokens": {TokenFile: "/missing"}, "no access file": {File: "/missing"}, "an empty access file": {File: put(t, "")},
		"no audience": {Issuer: Issuer{URL: "https://issuer.example"}}, "http": {Issuer: Issuer{URL: "http://issuer.example", Audiences: []string{"a"}}},
		"a reserved prefix of users":  {Issuer: Issuer{URL: "https://issuer.example", Audiences: []string{"a"}, JWKSFile: keys, UsernamePrefix: "system:x:"}},
		"a reserved prefix of groups": {Issuer: Issuer{URL: "https://issuer.example", Audiences: []string{"a"}, JWKSFile: keys, GroupsPrefix: "system:"}},
		"no keys":                     {Issuer: Issuer{URL: "https://issuer.example", Audiences: []string{"a"}, JWKSFile: put(t, `{"keys":[]}`)}},
		"symmetric keys": {Issuer: Issuer{URL: "https://issuer.example", Audiences: []string{"a"},
			JWKSFile: put(t, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`)}},
	} {
		o.Log = quiet
		if _, err := New(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestLongNames checks that a denial does not contain a catalog name of any length.
func TestLongNames(t *testing.T) {
	control, err := New(t.Context(), Options{File: put(t, "bindings: []"), Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	for _, long := range []string{strings.Repeat("a", 1<<20), strings.Repeat("\xff", 1<<20), strings.Repeat("ä", 1<<20)} {
		e, _ := AsError(control.Authorize(authenticated("alice", nil, FromToken), "/crdeval.v1.RegistryService/GetCrd", long))
		if e == nil || len(e.Message) > 1000 || len(e.Metadata["catalog"]) > 200 || !utf8.ValidString(e.Message) ||
			!strings.Contains(e.Message, "the role reader") {
			t.Errorf("%.300v", e)
		}
		e, _ = AsError(control.Authorize(authenticated("alice", nil, FromToken), "/x/"+long, "default"))
		if e == nil || len(e.Message) > 1000 {
			t.Errorf("%.300v", e)
		}
	}
}

// issuerKey signs tokens.
type issuerKey struct {
	*ecdsa.PrivateKey
	id string
}

func newKey(t *testing.T, id string) issuerKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return issuerKey{key, id}
}

func jwks(t *testing.T, keys ...issuerKey) string {
	t.Helper()
	set := jose.JSONWebKeySet{}
	for _, k := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{Key: &k.PublicKey, KeyID: k.id, Algorithm: "ES256", Use: "sig"})
	}
	text, err := json.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

type claims map[string]any

func sign(t *testing.T, algorithm jose.SignatureAlgorithm, key, c any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestJWTs(t *testing.T) {
	const url = "https://issuer.example"
	key, other, now := newKey(t, "1"), newKey(t, "1"), time.Unix(1_800_000_000, 0)
	current := func() time.Time { return now }
	file := put(t, jwks(t, key))
	with := func(change claims) claims {
		c := claims{"iss": url, "aud": "crdeval", "sub": "alice", "exp": now.Add(time.Hour).Unix(), "groups": []string{"devs"}, "email": "a@x.example"}
		for k, v := range change {
			if v == nil {
				delete(c, k)
			} else {
				c[k] = v
			}
		}
		return c
	}
	unsigned := func(header string) string {
		text, _ := json.Marshal(with(nil))
		encode := base64.RawURLEncoding.EncodeToString
		return encode([]byte(header)) + "." + encode(text) + "."
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(with(nil))
	if err != nil {
		t.Fatal(err)
	}
	good := sign(t, jose.ES256, key.PrivateKey, with(nil))
	base := Issuer{URL: url, Audiences: []string{"other", "crdeval"}, JWKSFile: file, GroupsClaim: "groups", GroupsPrefix: "oidc:"}
	email, plain := base, base
	email.UsernameClaim, plain.UsernamePrefix = "email", "-"
	bare := base
	bare.GroupsPrefix = ""
	for name, c := range map[string]struct {
		issuer Issuer
		token  string
		want   string // the name, or "" for an error
		err    string // a part of the error
	}{
		"good":                  {base, good, url + "#alice", ""},
		"without prefix":        {plain, good, "alice", ""},
		"email":                 {email, good, "a@x.example", ""},
		"an unverified email":   {email, sign(t, jose.ES256, key.PrivateKey, with(claims{"email_verified": false})), "", "not verified"},
		"a verified email":      {email, sign(t, jose.ES256, key.PrivateKey, with(claims{"email_verified": true})), "a@x.example", ""},
		"several audiences":     {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"aud": []string{"x", "crdeval"}})), "alice", ""},
		"a group as a string":   {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"groups": "devs"})), "alice", ""},
		"within the clock skew": {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"exp": now.Add(-29 * time.Second).Unix()})), "alice", ""},
		"expired":               {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"exp": now.Add(-31 * time.Second).Unix()})), "", "the bearer token has expired"},
		"without expiry":        {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"exp": nil})), "", "has expired"},
		"not yet valid":         {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"nbf": now.Add(time.Hour).Unix()})), "", "is not yet valid"},
		"another issuer":        {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"iss": "https://evil.example"})), "", "is of another issuer"},
		"another audience":      {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"aud": "x"})), "", "its aud does not include"},
		"without audience":      {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"aud": nil})), "", "its aud does not include"},
		"another key":           {plain, sign(t, jose.ES256, other.PrivateKey, with(nil)), "", "is not signed with a key of the configured issuer"},
		"without a name":        {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": nil})), "", "the claim sub"},
		"a reserved name":       {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": "system:admin"})), "", "the claim sub of the bearer token begins with system:"},
		"a reserved anonymous":  {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": Anonymous})), "", "begins with system:"},
		"a reserved email":      {email, sign(t, jose.ES256, key.PrivateKey, with(claims{"email": "system:a@x.example"})), "", "the claim email of the bearer token begins with system:"},
		"a prefix and system:":  {base, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": "system:admin"})), url + "#system:admin", ""},
		"a name of a number":    {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": 1})), "", "the bearer token"},
		"a long name":           {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"sub": strings.Repeat("x", 257)})), "", "the bearer token"},
		"groups of numbers":     {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"groups": []int{1}})), "", "the bearer token"},
		"HMAC with public key":  {plain, sign(t, jose.HS256, public, with(nil)), "", "is not a JWT with an accepted signature algorithm"},
		"alg none":              {plain, unsigned(`{"alg":"none"}`), "", "is not a JWT with an accepted"},
		"alg None":              {plain, unsigned(`{"alg":"None","typ":"JWT"}`), "", "the bearer token"},
		"no signature":          {plain, unsigned(`{"alg":"ES256"}`), "", ""},
		"a cut token":           {plain, good[:len(good)-4], "", "is not signed with a key"},
		"nonsense":              {plain, "a.b.c", "", "is not a JWT with an accepted"},
		"exp as text":           {plain, sign(t, jose.ES256, key.PrivateKey, with(claims{"exp": fmt.Sprint(now.Add(time.Hour).Unix())})), "", "a claim exp that is not a number"},
		"a claim twice":         {plain, sign(t, jose.ES256, key.PrivateKey, json.RawMessage(`{"sub":"bob",`+string(text)[1:])), "", "a claim twice"},
		"not an object":         {plain, sign(t, jose.ES256, key.PrivateKey, json.RawMessage(`[]`)), "", "not a JSON object"},
		"an opaque token":       {plain, "opaque", "", "it is not a JWT"},
	} {
		control, err := New(t.Context(), Options{Issuer: c.issuer, Now: current, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time from the cache
			id, err := control.Authenticate(Credentials{Authorization: []string{"Bearer " + c.token}})
			if id.Name != c.want || (err == nil) != (c.want != "") || err != nil && (strings.Contains(err.Error(), c.token) || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%s: %+v, %v", name, id, err)
			}
			if err == nil && !slices.Equal(id.Groups, []string{"oidc:devs", Authenticated}) {
				t.Errorf("%s: %v", name, id.Groups)
			}
		}
	}

	control, err := New(t.Context(), Options{Issuer: bare, Now: current, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	masters := sign(t, jose.ES256, key.PrivateKey, with(claims{"groups": []string{"system:masters", "devs", Authenticated}}))
	if id, err := control.Authenticate(Credentials{Authorization: []string{"Bearer " + masters}}); err != nil || !slices.Equal(id.Groups, []string{"devs", Authenticated}) {
		t.Errorf("groups without a prefix: %v, %v", id.Groups, err)
	}
	control, err = New(t.Context(), Options{Issuer: plain, Now: current, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	try := func() error {
		_, err := control.Authenticate(Credentials{Authorization: []string{"Bearer " + good}})
		return err
	}
	if err := try(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Hour + clockSkew + time.Second)
	if try() == nil {
		t.Error("a cached token outlasts its expiry")
	}
	now = now.Add(-time.Hour)
	if err := os.WriteFile(file, []byte(jwks(t, other)), 0o600); err != nil {
		t.Fatal(err)
	}
	control.Reload(t.Context())
	if try() == nil {
		t.Error("a cached token outlasts its key")
	}
}

// TestKeyID checks that the key ID of a token selects the keys that are tried, and that a forged ID costs no verification.
func TestKeyID(t *testing.T) {
	const url = "https://issuer.example"
	first, second, unnamed := newKey(t, "1"), newKey(t, "2"), newKey(t, "")
	token := func(key issuerKey, id string) string {
		return sign(t, jose.ES256, jose.JSONWebKey{Key: key.PrivateKey, KeyID: id},
			claims{"iss": url, "aud": "crdeval", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
	}
	for name, c := range map[string]struct {
		keys  string
		token string
		want  bool
	}{
		"the key":                {jwks(t, first, second), token(second, "2"), true},
		"the key of another ID":  {jwks(t, first, second), token(second, "1"), false},
		"an unknown ID":          {jwks(t, first, second), token(second, "3"), false},
		"two keys of an ID":      {jwks(t, first, newKey(t, "1")), token(first, "1"), true},
		"no ID in the token":     {jwks(t, first, second), token(second, ""), true},
		"no ID in the keys":      {jwks(t, first, unnamed), token(unnamed, "3"), true},
		"no ID, and another key": {jwks(t, first, unnamed), token(second, "3"), false},
	} {
		issuer := Issuer{URL: url, Audiences: []string{"crdeval"}, JWKSFile: put(t, c.keys)}
		control, err := New(t.Context(), Options{Issuer: issuer, Log: quiet})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := control.Authenticate(Credentials{Authorization: []string{"Bearer " + c.token}}); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIssuerKeys: keys come from the issuer, are read again after a token with an unknown key, and not for each one.
func TestIssuerKeys(t *testing.T) {
	first, second := newKey(t, "1"), newKey(t, "2")
	served, fetched, broken := jwks(t, first), 0, true
	var url string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case broken:
			w.WriteHeader(http.StatusInternalServerError)
		case r.URL.Path == "/keys":
			fetched++
			_, _ = w.Write([]byte(served))
		default:
			_, _ = w.Write([]byte(`{"issuer":"` + url + `","jwks_uri":"` + url + `/keys"}`))
		}
	}))
	defer server.Close()
	url = server.URL
	var logged bytes.Buffer
	v := &jwtVerifier{Issuer: Issuer{URL: url, Audiences: []string{"crdeval"}, UsernamePrefix: "-"}}
	control, err := New(t.Context(), Options{Issuer: v.Issuer, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	control.jwts.client = server.Client()
	try := func(key issuerKey) error {
		token := sign(t, jose.ES256, key.PrivateKey, claims{"iss": url, "aud": "crdeval", "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()})
		_, err := control.Authenticate(Credentials{Authorization: []string{"Bearer " + token}})
		return err
	}
	control.Reload(t.Context())
	if try(first) == nil || !strings.Contains(logged.String(), "cannot read the keys") {
		t.Errorf("without keys: %s", &logged)
	}
	broken = false
	control.Reload(t.Context())
	if err := try(first); err != nil || try(second) == nil {
		t.Errorf("with the first key: %v", err)
	}
	served, control.jwts.fetches.last = "maintenance", time.Time{}
	control.Reload(t.Context())
	control.Reload(t.Context())
	if fetched != 3 || try(first) != nil {
		t.Errorf("a damaged answer: %d fetches, want one for each reload", fetched-1)
	}
	served, fetched, control.jwts.fetches.last = jwks(t, first, second), 1, time.Now()
	for range 5 {
		_ = try(second)
	}
	if fetched != 1 {
		t.Errorf("tokens with unknown keys cause %d fetches", fetched-1)
	}
	control.Reload(t.Context())
	if err := try(second); err != nil || fetched != 2 {
		t.Errorf("after the rotation: %v, %d fetches", err, fetched)
	}
	control.Reload(t.Context())
	if fetched != 2 {
		t.Errorf("keys were fetched again without need")
	}
	broken = true
	control.jwts.stale.Store(true)
	control.Reload(t.Context())
	if err := try(second); err != nil {
		t.Errorf("known keys were lost: %v", err)
	}
}
