package registry

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
)

// Submission is one of several manifests to register.
type Submission struct {
	Manifest     engine.Document
	Precondition Precondition
	// Conversion are conversion rules that become effective together with the manifest. If they are rejected, so is the
	// manifest. Absent or null: the CRD keeps its rules.
	Conversion engine.Document
	// AsStored takes the CRD with its status and metadata as another API server stores it, without validation.
	AsStored bool
	// FieldValidation says what happens with unknown and duplicate fields of the manifest. AsStored ignores it.
	FieldValidation engine.FieldValidation
}

// Submitted is the result of a Submission: a Registration or an error. With an error, the Registration has only the
// report, if the manifest was compiled.
type Submitted struct {
	Registration Registration
	Err          error
}

// RegisterAll registers several manifests in their order and returns a result for each. A rejected manifest does not
// affect the others. When the store fails or ctx ends, the rest is not tried. It returns the token of the last write,
// or of the current state.
func (r *Registry) RegisterAll(
	ctx context.Context, catalog string, list []Submission,
) (out []Submitted, token string, err error) {
	defer func() {
		for i := range list {
			if err != nil {
				r.Registered(SubjectCRD, "", err)
			} else if i < len(out) && (out[i].Err != nil || out[i].Registration.Outcome != "") { // not after a panic
				r.Registered(SubjectCRD, out[i].Registration.Outcome, out[i].Err)
				if d := out[i].Registration.CRD; d != nil && d.Conversion != nil && out[i].Registration.Outcome != Unchanged {
					r.Registered(SubjectConversion, Updated, nil)
				}
			}
		}
	}()
	if err := r.awaitLatest(ctx); err != nil {
		return nil, "", err
	}
	if _, err := r.snapshot.Load().catalog(catalog); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	compiled := r.compileAll(ctx, catalog, list)
	out = make([]Submitted, len(list))
	token = r.tag.token(r.Sequence())
	var failed error // of the store or of ctx
	for i := range list {
		c := <-<-compiled
		j, err := c.candidate, c.err
		var done Registration
		for err == nil && failed == nil {
			if done, err = r.writeCandidate(ctx, catalog, j, list[i].Precondition); !errors.Is(err, errOutdated) {
				break
			}
			j, err = r.compileSubmission(ctx, catalog, list[i])
		}
		if failed != nil {
			err = notTried(failed)
		}
		if err != nil {
			out[i].Err = err
			if j != nil {
				out[i].Registration.Report = j.report
			}
			var e *Error
			if failed == nil && (errors.As(err, &e) && e.Reason == StoreUnavailable || ctx.Err() != nil) {
				failed = err
				cancel()
			}
			continue
		}
		if done.CRD != nil && j.setsRules {
			done.CRD.Conversion = j.rules
		}
		if out[i].Registration = done; done.Token != "" {
			token = done.Token
		}
	}
	return out, token, nil
}

// notTried returns the error of a submission after the one that failed.
func notTried(failed error) error {
	e := (*Error)(nil)
	if !errors.As(failed, &e) {
		return failed
	}
	return &Error{
		Reason: e.Reason, Err: failed,
		Message: "not tried, because the registry's store failed at an earlier submission: try again",
	}
}

// compileResult is a compiled manifest or an error.
type compileResult struct {
	candidate *candidate
	err       error
}

// compileAll compiles manifests while earlier ones are written, at most as many ahead as there are seats. It sends a channel with
// the result of each.
func (r *Registry) compileAll(ctx context.Context, catalog string, list []Submission) <-chan chan compileResult {
	out := make(chan chan compileResult, r.Scheduler.Seats())
	go func() {
		for _, s := range list {
			result := make(chan compileResult, 1)
			out <- result
			go func() {
				j, err := r.compileSubmission(ctx, catalog, s)
				result <- compileResult{j, err}
			}()
		}
	}()
	return out
}

func (r *Registry) compileSubmission(ctx context.Context, catalog string, s Submission) (_ *candidate, err error) {
	defer host.Recover(&err)
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, err := r.snapshot.Load().catalog(catalog)
	if err != nil {
		return nil, err
	}
	return r.compile(ctx, c, s)
}
