package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// maxKeys bounds the keys that are tried for a token.
const maxKeys = 64

// keySet has the public keys of an issuer.
type keySet struct{ oidc.StaticKeySet }

// parseKeys reads a JWKS. It ignores keys for encryption, and symmetric keys.
func parseKeys(text []byte) (*keySet, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("JWKS: %w", err)
	}
	keys := &keySet{}
	for _, key := range set.Keys {
		if key.Use != "" && key.Use != "sig" {
			continue
		}
		switch k := key.Public().Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			keys.PublicKeys = append(keys.PublicKeys, k)
		}
	}
	switch {
	case len(keys.PublicKeys) == 0:
		return nil, errors.New("JWKS: there is no public key for signatures")
	case len(keys.PublicKeys) > maxKeys:
		return nil, fmt.Errorf("JWKS: there are more than %d keys", maxKeys)
	}
	return keys, nil
}
