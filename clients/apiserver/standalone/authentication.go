package standalone

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/anonymous"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	tokenunion "k8s.io/apiserver/pkg/authentication/token/union"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/crdeval/crdeval/server/reload"
)

// AdminName is the name of the user of the admin token.
const AdminName = "crdeval-admin"

// minTokenBytes is the length of a token with which AdminToken can be trusted.
const minTokenBytes = 32

// healthPaths can be read without a credential, as probes do.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// TokenFile authenticates the bearer tokens of a file in the format of Kubernetes. It implements authenticator.Token.
type TokenFile struct {
	tokens *reload.Value[authenticator.Token]
}

// NewTokenFile reads a file of tokens.
func NewTokenFile(path string) (*TokenFile, error) {
	read := func([][]byte) (authenticator.Token, error) { return tokenfile.NewCSV(path) }
	tokens, err := reload.New([]string{path}, read)
	return &TokenFile{tokens}, err
}

// AuthenticateToken implements authenticator.Token.
func (f *TokenFile) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	return f.tokens.Get().AuthenticateToken(ctx, token)
}

// Poll reads the file again, and logs the result. If the file is invalid, the previously loaded tokens stay valid.
func (f *TokenFile) Poll(ctx context.Context, log *slog.Logger) { f.tokens.Poll(ctx, "tokens", log) }

// NewAuthenticator returns an authenticator of bearer tokens and client certificates. Other callers can only read the
// health. The admin token belongs to a member of system:masters. tokens authenticates other tokens, and can be nil like
// ca.
func NewAuthenticator(adminToken string, tokens authenticator.Token, ca dynamiccertificates.CAContentProvider,
) authenticator.Request {
	admin := &user.DefaultInfo{Name: AdminName, UID: AdminName, Groups: []string{user.SystemPrivilegedGroup}}
	all := []authenticator.Token{tokenfile.New(map[string]*user.DefaultInfo{adminToken: admin})}
	if tokens != nil {
		all = append(all, tokens)
	}
	var requests []authenticator.Request
	if ca != nil {
		requests = append(requests, x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion))
	}
	requests = append(requests, bearertoken.New(tokenunion.New(all...)))
	var health []apiserver.AnonymousAuthCondition
	for _, path := range healthPaths {
		health = append(health, apiserver.AnonymousAuthCondition{Path: path})
	}
	identified := group.NewAuthenticatedGroupAdder(union.New(requests...))
	return union.New(identified, anonymous.NewAuthenticator(health))
}

// AdminToken returns the token in a file, and creates the file with a random token if it does not exist.
func AdminToken(path string) (string, error) {
	text, err := os.ReadFile(path)
	switch token := strings.TrimSpace(string(text)); {
	case err == nil && len(token) < minTokenBytes:
		return "", fmt.Errorf("%s has a token of %d bytes, and must have at least %d; remove the file to get a new token", path, len(token), minTokenBytes)
	case err == nil:
		return token, nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	random := make([]byte, minTokenBytes)
	_, _ = rand.Read(random) // never fails
	token := hex.EncodeToString(random)
	return token, os.WriteFile(path, []byte(token+"\n"), 0o600)
}
