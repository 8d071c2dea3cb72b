package program

// numberCheck is what accept needs to know of a node's numeric keywords. Upstream converts bounds to the value's own Go
// type, and calls a bound that does not fit the declared type an error for every value (KO/validate/values.go).
type numberCheck struct {
	any        bool // something to check
	broken     bool // a bound does not fit the type: every number is refused
	int32      bool // type integer, format int32: integers must fit
	float32    bool // type number, format float: floats must fit
	min, max   int64
	multipleOf int64
}
