// Package tables compares tables: what an API server answers to `kubectl get`, and what kubectl prints of it.
//
// Upstream's side of a table is the API server's own handler of custom resources over a storage in memory (server.go),
// asked for a list as a Table; ours reads the same stored objects. Upstream's side of the text is the printer that
// kubectl prints tables with (text.go). Definitions are those of the corpus and generated ones (generate.go, paths.go),
// whose columns lead through the generated objects in every way that a JSONPath can.
package tables
