package gateway

import (
	"bytes"
	_ "embed" // the OpenAPI documents
)

var (
	//go:embed openapi/openapi.json
	embeddedV2 []byte

	openAPIV2 = bytes.TrimSpace(embeddedV2)
)
