// Package closure compiles type-checked CEL expressions to Go closures over the document tree, with the exact cost that
// cel-go would count.
//
// A closure answers only where evaluation has a value, no error, a cost below the limit, and is not interrupted.
// Otherwise it answers Unknown, and package interpret evaluates the expression with cel-go, which has the text and cost
// of every error.
//
// Read type.go first: what rules see of a schema. Then read program.go and frame.go: what is compiled and evaluated.
// compiler.go compiles expressions; its table builders lists the functions with closures. attr.go has variables with
// their selectors, and place.go, follow.go and presence.go resolve them. Most other files have one kind of operator,
// function or macro each. Functions without a closure of their own call cel-go's implementation with cel-go's values
// (ofFallback in generic.go, ref.go). reads.go finds the parts of self that programs depend on.
// result.go has programs whose values are not bools, for conversion.
//
// To add a closure for a function, write a builder, add it to builders, remove the function from ofFallback, and add an
// expression to differential_test.go.
//
// cel-go counts costs during evaluation (interpreter/runtimecost.go): 1 for an observed variable and for each selector;
// calls cost by the sizes of their operands. A closure adds its own cost to Frame.Cost. What cel-go folds when it plans
// (interpreter/decorators.go: constants, conversions of constants, tests for constants) costs nothing.
package closure
