package rule

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"
)

// release is what environments gained with one Kubernetes minor, and with which it was taken out again in favour of a newer version.
type release struct {
	since, until int // until 0: still there
	options      []cel.EnvOption
	// functions: it brings functions and nothing else that an expression can tell: no macros, types, validators or switches.
	functions bool
}

// in reports whether Kubernetes 1.minor has it.
func (r *release) in(minor int) bool { return minor >= r.since && (r.until == 0 || minor < r.until) }

// releases are the parts of the environments in upstream's order, which decides the order of options and validators.
//
// Upstream: k8s.io/apiserver pkg/cel/environment/base.go.
func releases() []release {
	return []release{
		{options: []cel.EnvOption{
			cel.HomogeneousAggregateLiterals(),
			cel.EagerlyValidateDeclarations(true),
			cel.DefaultUTCTimeZone(true),
			k8slibrary.URLs(),
			k8slibrary.Regex(),
			cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		}},
		{until: 37, options: []cel.EnvOption{k8slibrary.Lists(k8slibrary.ListsVersion(0))}, functions: true},
		{since: 27, options: []cel.EnvOption{k8slibrary.Authz()}},
		{since: crossTypeNumbersSince, options: []cel.EnvOption{cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), k8slibrary.Quantity()}},
		{since: validatorsSince, options: []cel.EnvOption{cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals(),
		)}},
		{until: 29, options: []cel.EnvOption{ext.Strings(ext.StringsVersion(0))}},
		{since: 29, options: []cel.EnvOption{ext.Strings(ext.StringsVersion(2))}},
		{since: 29, options: []cel.EnvOption{ext.Sets()}},
		{since: 30, options: []cel.EnvOption{k8slibrary.IP(), k8slibrary.CIDR()}},
		{since: 31, options: []cel.EnvOption{k8slibrary.Format()}},
		{since: 31, options: []cel.EnvOption{k8slibrary.AuthzSelectors()}},
		{since: 32, options: []cel.EnvOption{ext.TwoVarComprehensions()}},
		{since: 33, options: []cel.EnvOption{k8slibrary.SemverLib(k8slibrary.SemverVersion(1))}},
		{since: 34, options: []cel.EnvOption{ext.Lists(ext.ListsVersion(3))}},
		{since: 37, options: []cel.EnvOption{k8slibrary.Lists(k8slibrary.ListsVersion(1))}, functions: true},
	}
}

const (
	crossTypeNumbersSince = 28
	// validatorsSince is when literals of durations, timestamps and patterns came to be validated.
	validatorsSince = 29
	// keywordFieldsSince is when fields named as a reserved word could be selected without escapes.
	keywordFieldsSince = 31
)

func (e *Env) crossTypeNumbers() bool { return e.minor >= crossTypeNumbersSince }

// programOptions hold for every program of every minor.
func programOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(celconfig.PerCallLimit),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostTracking(&k8slibrary.CostEstimator{}),
	}
}

// kubernetesAt is everything that Kubernetes 1.minor adds to CEL, as one option.
func kubernetesAt(minor int) cel.EnvOption {
	l := &kubernetes{}
	for _, r := range releases() {
		if r.in(minor) {
			l.options = append(l.options, r.options...)
		}
	}
	return cel.Lib(l)
}

type kubernetes struct{ options []cel.EnvOption }

func (l *kubernetes) CompileOptions() []cel.EnvOption     { return l.options }
func (l *kubernetes) ProgramOptions() []cel.ProgramOption { return programOptions() }
