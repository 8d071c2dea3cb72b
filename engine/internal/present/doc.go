// Package present knows how an API server shows the objects of a CRD: what field selectors see of one (select.go, selector.go), the columns of a
// table, the Scale of an object; how it announces the CRD itself (discover.go); and what server-side apply has to know of it (fieldmanagement.go).
//
// It does not read objects as they come from a client or from storage: package admission does, and hands over the tree. What is known of
// one version is compiled once, immutable, and evaluated over (*value.Doc, root). Rare forms of a JSONPath go to the library that
// upstream evaluates them with.
package present
