package engine

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/format"
	"github.com/crdeval/crdeval/engine/internal/interrupt"
	"github.com/crdeval/crdeval/internal/value"
)

// LatestMinor is the Kubernetes minor release that the engine reproduces: 37 is Kubernetes 1.37.
const LatestMinor = format.LatestMinor

// OldestMinor is the oldest Kubernetes minor release that Options.KubernetesMinor accepts: 25 is Kubernetes 1.25,
// the first that had rules.
const OldestMinor = format.OldestMinor

// Options shape what a manifest means. The zero value is a stock Kubernetes 1.37 with the default limits, offline.
type Options struct {
	// KubernetesMinor says which formats, and which functions, macros and types of rules a new CRD may use, from OldestMinor to
	// LatestMinor. 0 is what a stock 1.37 does: it takes what 1.36 knows, so that its CRDs survive a rollback. Behaviour apart from
	// that is always 1.37's, and an accepted CRD's rules are always evaluated by 1.37.
	KubernetesMinor int
	// Existing returns the CRD that is registered under a name, nil if there is none. A manifest of that name is then judged as its update, as an
	// API server judges one, and otherwise as a creation. Nil: every manifest is a creation.
	Existing func(name string) *Existing
	// Terminating says that the CRD is being deleted, as Existing.Terminating has it: Admit then refuses to create objects, as an API server does, while updates
	// and all that only reads go on.
	Terminating bool
	// Heavy, if it is set, is called before the rules of a manifest are checked that may take long: a rule of some KiB, or one that nests dozens of
	// lists, can take seconds. It may wait, for a turn of its own kind; an error of it ends the check and is its error.
	Heavy func(ctx context.Context) error
	// Converter converts between versions of CRDs with the Webhook strategy. Nil means offline: a conversion that needs
	// it fails with ReasonConversionUnavailable.
	Converter Converter
	// Observer is told of compilations and evaluations; nil means nobody is.
	Observer Observer
	// Limits bound the documents; zero fields take the values of the defaults.
	Limits Limits
}

// LeftBehind is how many compilations and evaluations of rules this process goes on with after their contexts have ended, since nothing can stop them
// (CEL's checker, a parser on a long text): each ends within seconds, and only a few run at once.
func LeftBehind() int64 { return interrupt.Abandoned() }

// Limits bound the documents that are read. A zero field takes its default.
type Limits = value.Limits

// Converter is the only way out of the engine: it has objects converted by whatever serves a CRD's conversion webhook.
// It is called from many goroutines at once and honours its context.
type Converter interface {
	// Convert returns one object for each of the request's, in the same order, as JSON. The engine checks the answer as
	// an API server does (same count, names, kinds, desired version). An error becomes ReasonConversionUnavailable.
	Convert(ctx context.Context, request ConversionRequest) ([][]byte, error)
}

// ConversionRequest is what a conversion webhook is asked.
type ConversionRequest struct {
	// CRD is the name of the CRD, crontabs.stable.example.com.
	CRD string
	// Webhook is the CRD's own configuration: where to call, which ConversionReview versions it understands. Read-only.
	Webhook *apiextensionsv1.WebhookConversion
	// DesiredAPIVersion is the target, stable.example.com/v1.
	DesiredAPIVersion string
	// Objects are JSON texts, each with its own apiVersion.
	Objects [][]byte
}

// Observer is told what the engine did. Its methods are called on the evaluating goroutine, from many at once, after the
// work is done, and must return quickly.
type Observer interface {
	// Compiled reports that one version of a CRD was compiled.
	Compiled(ctx context.Context, event CompileEvent)
	// Evaluated reports that one item was evaluated.
	Evaluated(ctx context.Context, event EvaluationEvent)
}

// CompileEvent describes the compilation of one version.
type CompileEvent struct {
	CRD, Revision, Version string
	Duration               time.Duration
	// Bytes is what the compiled version retains, interned patterns apart.
	Bytes int64
}

// EvaluationEvent describes the evaluation of one item.
type EvaluationEvent struct {
	Call         Call
	CRD, Version string
	Duration     time.Duration
	// Bytes is the size of the objects and of the patch as given.
	Bytes int
	// Explained is set when the accept walk did not settle the item.
	Explained bool
	// Allowed and Violations describe a Verdict; zero for the other calls.
	Allowed    bool
	Violations int
	// Err is the error returned, nil mostly.
	Err error
}

// Call names one of the evaluations.
type Call string

// The evaluations.
const (
	CallValidate Call = "Validate"
	CallAdmit    Call = "Admit"
	CallPrune    Call = "Prune"
	CallDefault  Call = "Default"
	CallRead     Call = "Read"
	CallConvert  Call = "Convert"
)
