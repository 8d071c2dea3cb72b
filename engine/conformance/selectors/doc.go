// Package selectors compares field selectors: what they see of an object, which objects they select, and what is
// answered to one that is wrong.
//
// Upstream's side is the API server's own handler of custom resources over a storage in memory (server.go): a selector
// goes into the URL of a list, the storage asks the predicate and the attributes that the handler gave it. Ours reads
// each object as from storage and selects.
package selectors
