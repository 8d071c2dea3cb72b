package schema

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/crdeval/crdeval/engine/internal/tree"
)

// errNoSuchField reports a path that does not exist in the schema.
var errNoSuchField = errors.New("does not refer to a valid field")

// Resolve follows a path of the form .a['b.c'].d through a schema. It returns the path into an object and the schema at
// its end. The schema is nil for the values of a map without a value schema. An empty path returns s. If brackets is
// false, the notation ['…'] is an error, as for selectable fields.
//
// Upstream panics if the path continues below a map without a value schema. Resolve returns an error.
// (k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/validation.go, ValidFieldPath)
func Resolve(path string, s *Props, brackets bool) (at tree.Path, found *Props, err error) {
	step := func(name string) error {
		switch {
		case s == nil:
			return errNoSuchField
		case len(s.Properties) > 0:
			at = append(at, tree.Name(name))
			p, ok := s.Properties[name]
			if !ok {
				return errNoSuchField
			}
			s = &p
		case s.AdditionalProperties != nil:
			at = append(at, tree.Entry(name))
			s = s.AdditionalProperties.Schema
		default:
			return errNoSuchField
		}
		return nil
	}
	// A Scanner stops without a visible error at a token longer than 64 KiB. Upstream behaves the same.
	tokens := bufio.NewScanner(strings.NewReader(path))
	tokens.Split(pathToken)
	for tokens.Scan() {
		switch token := tokens.Text(); token {
		case "[":
			name, err := bracketed(tokens, brackets)
			if err != nil {
				return nil, nil, err
			}
			if err := step(name); err != nil {
				return nil, nil, err
			}
			if !tokens.Scan() {
				return nil, nil, errors.New("unexpected end of JSON path")
			}
			if end := tokens.Text(); end != "]" {
				return nil, nil, fmt.Errorf("expected ] but got %s", end)
			}
		case ".":
			if !tokens.Scan() {
				return nil, nil, errors.New("unexpected end of JSON path")
			}
			if err := step(tokens.Text()); err != nil {
				return nil, nil, err
			}
		default:
			return nil, nil, fmt.Errorf("expected [ or . but got: %s", token)
		}
	}
	return at, s, nil
}

// bracketed reads the quoted name after an opening bracket.
func bracketed(tokens *bufio.Scanner, allowed bool) (string, error) {
	if !allowed {
		return "", errors.New("array notation is not allowed")
	}
	if !tokens.Scan() {
		return "", errors.New("unexpected end of JSON path")
	}
	quoted := tokens.Text()
	if len(quoted) < 2 || quoted[0] != '\'' || quoted[len(quoted)-1] != '\'' {
		return "", fmt.Errorf("expected single quoted string but got %s", quoted)
	}
	name, err := unquote(quoted[1 : len(quoted)-1])
	if err != nil {
		return "", fmt.Errorf("invalid string literal: %w", err)
	}
	return name, nil
}

// pathToken is a bufio.SplitFunc that returns a delimiter, a quoted string or a name.
func pathToken(data []byte, atEOF bool) (int, []byte, error) {
	if len(data) == 0 {
		return 0, nil, nil
	}
	if data[0] == '\'' {
		for i := 1; i < len(data); i++ {
			if data[i] == '\'' && data[i-1] != '\\' {
				return i + 1, data[:i+1], nil
			}
		}
	} else {
		for i, b := range data {
			if b != '.' && b != '[' && b != ']' {
				continue
			}
			if i == 0 {
				i = 1
			}
			return i, data[:i], nil
		}
	}
	if atEOF {
		return len(data), data, nil
	}
	return 0, nil, nil
}

var escape = regexp.MustCompile(`\\.`)

var unescaped = map[byte]string{
	'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v", '\'': "'", '\\': `\`,
}

func unquote(s string) (string, error) {
	var err error
	out := escape.ReplaceAllStringFunc(s, func(match string) string {
		text, ok := unescaped[match[1]]
		if !ok {
			err = fmt.Errorf("invalid escape char %s", match)
		}
		return text
	})
	return out, err
}
