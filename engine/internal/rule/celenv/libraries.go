package celenv

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	k8slibrary "k8s.io/apiserver/pkg/cel/library"
)

// release is a part of the environments that one Kubernetes minor added, and perhaps a later one removed.
type release struct {
	since, until int // until 0: not removed
	options      []cel.EnvOption
	// functions: the release has functions only, and no macros, types, validators or switches.
	functions bool
}

// in reports whether Kubernetes 1.minor has the release.
func (r *release) in(minor int) bool { return minor >= r.since && (r.until == 0 || minor < r.until) }

const (
	crossTypeNumbersSince = 28
	// validatorsSince is the minor that began to validate literal durations, timestamps and patterns.
	validatorsSince = 29
	// keywordFieldsSince is the minor that allowed to select fields named like a reserved word without an escape.
	keywordFieldsSince = 31
	// twoVariablesSince is the minor that added macros with two variables. (ext.TwoVarComprehensions)
	twoVariablesSince = 32
)

// releases are in upstream's order, which decides the order of options and validators.
//
// Upstream: k8s.io/apiserver pkg/cel/environment/base.go.
var releases = sync.OnceValue(func() []release {
	one := func(o cel.EnvOption) []cel.EnvOption { return []cel.EnvOption{o} }
	return []release{
		{options: []cel.EnvOption{
			cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
			k8slibrary.URLs(), k8slibrary.Regex(), cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
		}},
		{until: 37, options: one(k8slibrary.Lists(k8slibrary.ListsVersion(0))), functions: true},
		{since: 27, options: one(k8slibrary.Authz())},
		{since: crossTypeNumbersSince, options: []cel.EnvOption{
			cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), k8slibrary.Quantity(),
		}},
		{since: validatorsSince, options: one(cel.ASTValidators(
			cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(),
			cel.ValidateHomogeneousAggregateLiterals(),
		))},
		{until: 29, options: one(ext.Strings(ext.StringsVersion(0)))},
		{since: 29, options: one(ext.Strings(ext.StringsVersion(2)))},
		{since: 29, options: one(ext.Sets())},
		{since: 30, options: []cel.EnvOption{k8slibrary.IP(), k8slibrary.CIDR()}},
		{since: 31, options: one(k8slibrary.Format())},
		{since: 31, options: one(k8slibrary.AuthzSelectors())},
		{since: twoVariablesSince, options: one(ext.TwoVarComprehensions())},
		{since: 33, options: one(k8slibrary.SemverLib(k8slibrary.SemverVersion(1)))},
		{since: 34, options: one(ext.Lists(ext.ListsVersion(3)))},
		{since: 37, options: one(k8slibrary.Lists(k8slibrary.ListsVersion(1))), functions: true},
	}
})

// librariesOf returns everything that Kubernetes 1.minor adds to CEL as one option.
func librariesOf(minor int) cel.EnvOption {
	var l libraries
	for _, r := range releases() {
		if r.in(minor) {
			l = append(l, r.options...)
		}
	}
	return cel.Lib(l)
}

type libraries []cel.EnvOption

func (l libraries) CompileOptions() []cel.EnvOption { return l }

func (l libraries) ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(celconfig.PerCallLimit),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.CostTracking(&k8slibrary.CostEstimator{}),
	}
}
