package closure

type boolFn func(*Frame) (bool, bool)
type val struct{}
type shape struct{ kind int }

const shapeBool = 1

type expr struct {
	shape shape
	b     boolFn
}

func (x *expr) bool() boolFn { return x.b }

type compiler struct {
	program  *Program
	closures int
}

func newCompiler(a any, self *Type, o Options) *compiler {
	return &compiler{program: &Program{nodes: nodeFirst}}
}
func (c *compiler) observed(e any) *expr { panic(&Unsupported{"anything yet"}) }
