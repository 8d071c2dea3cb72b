// Package tables reads the tables of upstream's own tests: expressions, schemas, objects, and the costs that are pinned
// there.
//
// Figures carry over, code does not: nothing of upstream is copied into this repository. When a test wants a table,
// this package takes the declaration of the table, and of what it refers to, out of the test file in the module cache,
// puts a main function around it that prints the rows as JSON, and runs that.
package tables
