package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/crdeval/crdeval/engine/value"
	"github.com/crdeval/crdeval/server/api"
)

// yamlNodeBytes is the memory that a node of a YAML body takes while the body is converted to JSON.
const yamlNodeBytes = 256

// reserveNodes rejects a YAML body with too many nodes, and reserves memory for those it has.
func (b *body) reserveNodes() error {
	nodes := 1 // rather too many: each node has a line, a comma, a bracket or an indicator of its own
	for _, sign := range []string{"\n", "\r", ",", "[", "{", "- ", "? "} {
		nodes += bytes.Count(b.data, []byte(sign))
	}
	if nodes > api.MaxYAMLNodes {
		return api.LimitExceeded("max_yaml_nodes", api.MaxYAMLNodes, "the body has about %d YAML nodes (lines and entries of "+
			"flow collections), and the limit max_yaml_nodes is %d: send fewer items in a call, or JSON", nodes, api.MaxYAMLNodes)
	}
	if b.held == nil {
		return nil
	}
	return b.held.take(min(int64(nodes)*yamlNodeBytes, b.held.of.max/4))
}

// decodeYAML converts the body to JSON and reads that into v.
func (b *body) decodeYAML(v any) error {
	if err := b.reserveNodes(); err != nil {
		return err
	}
	converted, source, err := value.YAMLToJSON(b.data, b.limits)
	if syntax, ok := errors.AsType[*value.SyntaxError](err); ok &&
		strings.Contains(syntax.Text, "unsupported map key of type: %!s(<nil>)") {
		return &value.SyntaxError{
			Offset: -1, Line: syntax.Line, Column: syntax.Column, Text: "yaml: a key is null: keys are strings, so quote it", Cause: err,
		}
	}
	if err != nil {
		return err
	}
	if strict := source.StrictError(); strict != nil { // JSON has each key once, so it must be reported here
		text := strings.TrimPrefix(strict.Error(), "yaml: unmarshal errors:\n  ")
		return fmt.Errorf("the body gives keys twice: %s", strings.ReplaceAll(text, "\n  ", "; "))
	}
	b.source = source
	return withHint(unmarshal(converted, v, b.lists), v, converted)
}
