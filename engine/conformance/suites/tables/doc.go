// Package tables compares tables: the API server's response to `kubectl get`, and what kubectl prints.
//
// For tables, upstream's side is the API server's own handler of custom resources with a storage in memory (server.go),
// which lists as a Table. Our side reads the same stored objects. For printed text, upstream's side is kubectl's
// printer of tables (text.go). CRDs are those of the corpus and generated ones (generate.go, paths.go), whose columns
// use every feature of JSONPath.
package tables
