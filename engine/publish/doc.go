// Package publish makes what an API server publishes of CRDs and shows of their objects, as Kubernetes 1.37 does.
//
// Of CRDs:
//
//   - Discover returns the discovery documents below /apis.
//   - OpenAPI makes the documents of /openapi/v2 and /openapi/v3, byte for byte.
//   - Explain returns what kubectl explain prints.
//
// They take a CRD with its status. NewCRD makes one of a compiled CRD; a server that stores CRDs can fill in the struct
// itself, so that it compiles nothing for these documents.
//
// Of the objects of a compiled CRD:
//
//   - TableOf returns objects as the table of kubectl get, and Table.Text the text that kubectl prints.
//   - Select returns the values of selectable fields. ParseFieldSelector parses a selector that matches them.
//   - GetScale and SetScale are the subresource scale, and ScaleTable is its table.
//
// Admit and Read of package engine return the row, the fields and the scale of their result in the same call, see
// engine.Presentation. Errors are an *engine.Error, except those of the callbacks OpenAPI.Reserve and CRD.Manifest, which
// are returned as they are.
package publish
