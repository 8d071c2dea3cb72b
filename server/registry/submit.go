package registry

import (
	"context"
	"errors"

	"github.com/crdeval/crdeval/engine"
)

// Submission is one of several manifests to register.
type Submission struct {
	Manifest     engine.Document
	Precondition Precondition
}

// Submitted is what came of a Submission: one of the two.
type Submitted struct {
	Registration Registration
	Err          error
}

// RegisterAll registers several manifests in their order, with an answer for each at its index: one's failure is its own, save that nothing
// is tried after the store failed, or ctx ended. It returns the token of the last write, or that of now.
func (r *Registry) RegisterAll(ctx context.Context, catalog string, list []Submission) ([]Submitted, string, error) {
	if err := r.newest(ctx); err != nil {
		return nil, "", err
	}
	if _, err := r.snapshot.Load().catalog(catalog); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := r.judgeAhead(ctx, catalog, list)
	out := make([]Submitted, len(list))
	token := r.tag.token(r.snapshot.Load().sequence)
	var down error // the store's failure, or the end of the call
	for i := range list {
		verdict := <-ahead[i]
		done, err := verdict.judged.answer(), verdict.err
		switch {
		case down != nil:
			err = notTried(down)
		case err == nil:
			done, err = r.enter(ctx, catalog, verdict.judged, list[i].Precondition)
			if errors.Is(err, errJudgeAgain) {
				done, err = r.Register(ctx, catalog, list[i].Manifest, list[i].Precondition)
			}
		}
		if err != nil {
			out[i].Err = err
			var e *Error
			if down == nil && (errors.As(err, &e) && e.Reason == StoreUnavailable || ctx.Err() != nil) {
				down = err
				cancel()
			}
			continue
		}
		if out[i].Registration = done; done.Token != "" {
			token = done.Token
		}
	}
	return out, token, nil
}

// notTried is the error of a submission behind the one at which the store failed, or the call ended: whatever became of that one, this one is as it was.
func notTried(down error) error {
	e := (*Error)(nil)
	if !errors.As(down, &e) {
		return down
	}
	return &Error{Reason: e.Reason, Message: "not tried, since the registry's store failed at one before it: try again", Err: down}
}

// verdict is a manifest that was judged, or why it was not.
type verdict struct {
	judged *judged
	err    error
}

// judgeAhead judges the manifests of a list while those before them are written: at most as many ahead as are judged at once. A verdict
// that no longer holds when its turn comes is made again.
func (r *Registry) judgeAhead(ctx context.Context, catalog string, list []Submission) []chan verdict {
	out := make([]chan verdict, len(list))
	for i := range out {
		out[i] = make(chan verdict)
	}
	next := make(chan int)
	go func() {
		defer close(next)
		for i := range list {
			next <- i
		}
	}()
	for range min(len(list), cap(r.compiling)) {
		go func() {
			for i := range next {
				out[i] <- r.verdict(ctx, catalog, list[i])
			}
		}()
	}
	return out
}

func (r *Registry) verdict(ctx context.Context, catalog string, s Submission) verdict {
	if err := s.Precondition.valid(); err != nil {
		return verdict{err: err}
	}
	if ctx.Err() != nil {
		return verdict{err: context.Cause(ctx)}
	}
	c, err := r.snapshot.Load().catalog(catalog)
	if err != nil {
		return verdict{err: err}
	}
	j, err := r.judge(ctx, c, s.Manifest)
	return verdict{j, err}
}
