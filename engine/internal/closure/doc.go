// Package closure compiles type-checked CEL expressions to Go closures over the document tree, with the exact cost that cel-go would count.
//
// It answers the clean case alone: a value and its cost, no error anywhere, below the limit, in time. Whatever else happens it says that it does
// not know, and package rule replays the expression on cel-go, which has the text and the cost of every error.
//
// Read type.go first, what rules can see of a schema; then program.go and frame.go, what is compiled and evaluated. compiler.go goes through the
// expression; attr.go has variables with their selectors, which cost by their place, and walk.go, follow.go and presence.go resolve them; the other files have
// a kind of operator, function or macro each. What has no closure of its own is a call of cel-go's implementation on cel-go's values (generic.go, ref.go).
//
// cel-go counts costs while it evaluates (interpreter/runtimecost.go): 1 for a variable that is observed and for each selector, and for calls what their
// operands' sizes tell. A closure adds its own cost to Frame.Cost; what fails may leave any cost, since the outcome is Unknown. What cel-go folds when it
// plans (interpreter/decorators.go: constants, conversions of constants, tests for constants) costs nothing.
package closure
