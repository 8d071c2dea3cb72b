// Package selectors compares field selectors: the fields of an object, the selected objects, and the answers to invalid
// selectors.
//
// Upstream's side is the API server's own handler of custom resources with a storage in memory (server.go). A selector
// is part of the URL of a list. The storage calls the predicate and the attributes of the handler. Our side reads each
// object as from storage and selects.
package selectors
