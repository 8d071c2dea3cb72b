package crdeval

import (
	"bytes"

	crdevalv1 "github.com/crdeval/crdeval/proto/crdeval/v1"
)

// Document wraps the bytes of one object or manifest without copying them. As in kubectl, text is JSON if its first
// character is a brace or a bracket, otherwise YAML.
func Document(text []byte) *crdevalv1.Document {
	head := bytes.TrimLeft(text, " \t\r\n")
	if len(head) > 0 && (head[0] == '{' || head[0] == '[') {
		return &crdevalv1.Document{Content: &crdevalv1.Document_Json{Json: text}}
	}
	return &crdevalv1.Document{Content: &crdevalv1.Document_Yaml{Yaml: text}}
}
