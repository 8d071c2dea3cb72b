package access

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// maxKeys bounds the keys that are tried for a token.
const maxKeys = 64

// keySet has the public keys of an issuer by their IDs, "" for keys without one.
type keySet struct{ byID map[string][]any }

// parseKeys reads a JWKS. It ignores keys for encryption, and symmetric keys.
func parseKeys(text []byte) (*keySet, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("JWKS: %w", err)
	}
	keys, number := &keySet{map[string][]any{}}, 0
	for _, key := range set.Keys {
		if key.Use != "" && key.Use != "sig" {
			continue
		}
		switch k := key.Public().Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			keys.byID[key.KeyID] = append(keys.byID[key.KeyID], k)
			number++
		}
	}
	switch {
	case number == 0:
		return nil, errors.New("JWKS: there is no public key for signatures")
	case number > maxKeys:
		return nil, fmt.Errorf("JWKS: there are more than %d keys", maxKeys)
	}
	return keys, nil
}

// verify returns the payload of a JWT. If the token has a key ID, only the keys with this ID, and those without an ID, are
// tried: a token with an invented ID costs no verification.
func (s *keySet) verify(jwt string) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(jwt, algorithms)
	if err != nil {
		return nil, err
	}
	id := signed.Signatures[0].Header.KeyID
	for of, keys := range s.byID {
		if id != "" && of != id && of != "" {
			continue
		}
		for _, key := range keys {
			if payload, err := signed.Verify(key); err == nil {
				return payload, nil
			}
		}
	}
	return nil, fmt.Errorf("no key of the issuer verifies the signature (key ID %.100q)", id)
}
