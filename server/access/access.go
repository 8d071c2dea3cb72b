// Package access authenticates callers and authorizes their calls.
//
// An Identity comes from a verified client certificate (certificate.go), a bearer token in a file (tokens.go), or a JWT
// of an OIDC issuer (issuer.go). The access file binds identities to roles in catalogs (policy.go). methods.go lists
// the permission that each method requires. Control combines them. The package does not depend on gRPC:
// server/transport uses it for each call over gRPC and REST.
package access

import (
	"fmt"
	"slices"
	"strings"
)

// Names of callers without credentials, and of all others, as in Kubernetes.
const (
	Anonymous       = "system:anonymous"       // the name of callers without credentials
	Unauthenticated = "system:unauthenticated" // their group
	Authenticated   = "system:authenticated"   // a group of all other callers
)

// Source is the kind of credentials that identified a caller.
type Source string

// The sources of identities.
const (
	FromNothing     Source = "anonymous"
	FromCertificate Source = "certificate"
	FromToken       Source = "token"
	FromJWT         Source = "oidc"
	FromServer      Source = "server" // the server itself, such as --crds
)

// Identity is a caller.
type Identity struct {
	Name   string
	Groups []string
	Source Source
}

// IsAnonymous reports whether the caller has no credentials.
func (id Identity) IsAnonymous() bool { return id.Source == FromNothing }

var anonymous = Identity{Name: Anonymous, Groups: []string{Unauthenticated}, Source: FromNothing}

// authenticated returns the identity of a caller with credentials.
func authenticated(name string, groups []string, source Source) Identity {
	return Identity{Name: name, Groups: append(slices.Clip(groups), Authenticated), Source: source}
}

// Error is returned for a call that is not authenticated or not permitted.
type Error struct {
	Unauthenticated bool // else not permitted
	Message         string
	Metadata        map[string]string // user, role and catalog, as far as they are known
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func unauthenticated(message string) *Error { return &Error{Unauthenticated: true, Message: message} }

// maxNameInError bounds the names of catalogs and methods in errors. Existing ones are shorter.
const maxNameInError = 128

// Clip returns the first bytes of a text that a caller has chosen, for errors and logs.
func Clip(text string, most int) string {
	if len(text) > most {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:most], ""), len(text))
	}
	return text
}
