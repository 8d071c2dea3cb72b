// Package spelling knows of a list of names how long they are and which letters they have, so that those which a misspelt one may have meant are found without
// comparing it with each (Index). What is near and what is not, package hint decides: an Index names all that could be, and a few that are not.
//
// Indexes are made with the programs of schemas (package program), for nodes that declare many fields.
package spelling
