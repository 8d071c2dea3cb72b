package access

import (
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"log/slog"
	"strings"
)

// tokens maps the digests of bearer tokens to identities. With digests, the time of a lookup does not reveal parts of a
// token.
type tokens map[[sha256.Size]byte]Identity

// parseTokens reads a token file. A line is a token, or token,user,uid,"group1,group2" as in the static token files of
// Kubernetes. Empty lines and lines that begin with # are ignored. A file without tokens is valid and rejects all
// callers: emptying it revokes every token. The errors do not contain tokens.
func parseTokens(text []byte, log *slog.Logger) (tokens, error) {
	all, number := tokens{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		token, id, err := parseToken(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		digest := sha256.Sum256([]byte(token))
		if other, ok := all[digest]; ok && other.Name != id.Name {
			return nil, fmt.Errorf("line %d: another line has the same token for the user %q", number, other.Name)
		}
		all[digest] = id
	}
	if len(all) == 0 {
		log.Warn("the token file has no tokens: all tokens are rejected")
	}
	return all, nil
}

// parseToken reads a line of a token file.
func parseToken(line string) (token string, id Identity, err error) {
	const fields = 4
	if !strings.Contains(line, ",") {
		return line, authenticated("token:"+shortDigest(sha256.Sum256([]byte(line))), nil, FromToken), nil
	}
	r := csv.NewReader(strings.NewReader(line))
	r.TrimLeadingSpace = true
	values, err := r.Read()
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	if err != nil || len(values) < fields-1 || len(values) > fields || values[0] == "" || values[1] == "" {
		return "", Identity{}, fmt.Errorf(`a line is a token, or token,user,uid,"group1,group2"`)
	}
	var groups []string
	if len(values) == fields {
		for group := range strings.SplitSeq(values[fields-1], ",") {
			if group = strings.TrimSpace(group); group != "" {
				groups = append(groups, group)
			}
		}
	}
	return values[0], authenticated(values[1], groups, FromToken), nil
}
