package run

import "github.com/crdeval/crdeval/engine/conformance/oracle"

// Subject is an implementation that answers for definitions: upstream, or ours.
type Subject interface {
	// Register judges a manifest; the definition is nil unless it can serve objects.
	Register(manifest []byte) (Definition, oracle.Answer)
	// Update judges a manifest where there is a definition of its name already.
	Update(old *oracle.Registered, manifest []byte) (Definition, oracle.Answer)
}

// Definition answers for the objects of an accepted definition.
type Definition interface {
	Answer(oracle.Request) oracle.Answer
}

// Checked is a definition of ours that knows more than one way to an answer and tells where they differ.
type Checked interface {
	Definition
	// Check lists the differences between the ways: fast path on and off, memory fresh and used.
	Check(oracle.Request) []string
}

// Addressed is a definition that knows to which URL a write would be sent.
type Addressed interface {
	Definition
	// Address makes a request for the API server's own handlers of one for the strategies.
	Address(oracle.Request) (oracle.Request, bool)
}

// Upstream is the oracle as a subject.
type Upstream struct{}

// Register implements Subject.
func (Upstream) Register(manifest []byte) (Definition, oracle.Answer) {
	return serve(oracle.Register(manifest, false))
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
