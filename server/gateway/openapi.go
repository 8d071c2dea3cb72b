package gateway

import (
	"bytes"
	_ "embed" // the OpenAPI documents
)

var (
	//go:embed openapi/openapi.json
	embeddedV2 []byte
	//go:embed openapi/openapi3.json
	embeddedV3 []byte

	openAPIV2, openAPIV3 = bytes.TrimSpace(embeddedV2), bytes.TrimSpace(embeddedV3)
)
