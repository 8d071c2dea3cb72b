package standalone

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
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
)

// AdminName is the name of the user of the admin token.
const AdminName = "crdeval-admin"

// minTokenBytes is the length of a token with which AdminToken can be trusted.
const minTokenBytes = 32

// healthPaths can be read without a credential, as probes do.
var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// NewAuthenticator returns an authenticator of bearer tokens and client certificates. Other callers can only read the
// health. The admin token belongs to a member of system:masters. tokenFile has tokens in the format of Kubernetes, and
// can be empty. ca can be nil.
func NewAuthenticator(adminToken, tokenFile string, ca dynamiccertificates.CAContentProvider) (authenticator.Request, error) {
	admin := &user.DefaultInfo{Name: AdminName, UID: AdminName, Groups: []string{user.SystemPrivilegedGroup}}
	tokens := []authenticator.Token{tokenfile.New(map[string]*user.DefaultInfo{adminToken: admin})}
	if tokenFile != "" {
		file, err := tokenfile.NewCSV(tokenFile)
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, file)
	}
	var requests []authenticator.Request
	if ca != nil {
		requests = append(requests, x509.NewDynamic(ca.VerifyOptions, x509.CommonNameUserConversion))
	}
	requests = append(requests, bearertoken.New(tokenunion.New(tokens...)))
	var health []apiserver.AnonymousAuthCondition
	for _, path := range healthPaths {
		health = append(health, apiserver.AnonymousAuthCondition{Path: path})
	}
	identified := group.NewAuthenticatedGroupAdder(union.New(requests...))
	return union.New(identified, anonymous.NewAuthenticator(health)), nil
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
