package writes

import "github.com/crdeval/crdeval/engine/conformance/oracle"

// Subject is an implementation under comparison: upstream, or ours.
type Subject interface {
	// Register evaluates a manifest. The definition is nil if it cannot serve objects.
	Register(manifest []byte) (Definition, oracle.Answer)
	// Update evaluates a manifest if a CRD with its name exists.
	Update(old *oracle.Registered, manifest []byte) (Definition, oracle.Answer)
}

// Strict is a subject that answers a creation with strict field validation.
type Strict interface {
	// RegisterStrict returns the rejection of a manifest that cannot be decoded strictly. It is nil if it can.
	RegisterStrict(manifest []byte, yaml bool) *oracle.Rejection
}

// Definition evaluates the objects of an accepted CRD.
type Definition interface {
	Answer(oracle.Request) oracle.Answer
}

// Checked is a definition with more than one way to evaluate. It reports where they differ.
type Checked interface {
	Definition
	// Check lists the differences between the ways: with and without the fast path, with fresh and with used memory.
	Check(oracle.Request) []string
}

// Addressed is a definition that knows the URL of a write.
type Addressed interface {
	Definition
	// Address turns a request for the strategies into one for the API server's own handlers.
	Address(oracle.Request) (oracle.Request, bool)
}

// Upstream is the oracle as a subject.
type Upstream struct{}

// Register implements Subject.
func (Upstream) Register(manifest []byte) (Definition, oracle.Answer) {
	return serve(oracle.Register(manifest, false))
}

// RegisterStrict implements Strict.
func (Upstream) RegisterStrict(manifest []byte, yaml bool) *oracle.Rejection {
	return oracle.RegisterStrict(manifest, yaml)
}

// Update implements Subject.
func (Upstream) Update(old *oracle.Registered, manifest []byte) (Definition, oracle.Answer) {
	return serve(oracle.RegisterUpdate(old, manifest, false))
}

func serve(registered *oracle.Registered, answer oracle.Answer) (Definition, oracle.Answer) {
	if registered == nil || !answer.Accepted() {
		return nil, answer
	}
	d, err := oracle.Compile(registered)
	if err != nil {
		answer.Rejection = &oracle.Rejection{Code: 500, Message: "accepted, and then not served: " + err.Error()}
		return nil, answer
	}
	return d, answer
}
