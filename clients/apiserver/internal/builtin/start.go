package builtin

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Bounds of EnsureExists.
const (
	startInterval = 20 * time.Millisecond // between attempts
	startTimeout  = time.Minute
)

// EnsureExists calls create until an object of the own server exists. At its start, the server does not serve all
// resources yet. After a minute, it returns the error of the last attempt.
func EnsureExists(ctx context.Context, create func(context.Context) error) error {
	var failure error
	err := wait.PollUntilContextTimeout(ctx, startInterval, startTimeout, true, func(ctx context.Context) (bool, error) {
		failure = create(ctx)
		return failure == nil || apierrors.IsAlreadyExists(failure), nil
	})
	if err != nil && failure != nil {
		return failure
	}
	return err
}
