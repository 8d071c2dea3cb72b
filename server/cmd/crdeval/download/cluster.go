package download

import (
	"context"
	"errors"
	"fmt"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/crdeval/crdeval/server/cmd/crdeval/cluster"
)

// readCluster returns the CRDs of the cluster of a context as a List. If the cached CRDs are current, it reads only
// metadata.
func (r *Reader) readCluster(ctx context.Context, folder, of string) ([]byte, error) {
	client, host, err := cluster.Connect("", of, r.userAgent)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, r.ClusterTimeout)
	defer cancel()
	// A cluster changes often. No fragment #sha256= refers to its former content.
	content, err := r.cached(folder, "kube "+host, true, func(etag string) ([]byte, string, error) {
		if etag != "" {
			if current, err := cluster.CRDVersions(timed, client, r.PageSize); err != nil || current == etag {
				return nil, current, err
			}
		}
		return cluster.CRDs(timed, client, r.PageSize)
	})
	var timeout net.Error
	switch {
	case err == nil:
		return content, nil
	case ctx.Err() != nil:
		return nil, errors.New("interrupted")
	case timed.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		err = fmt.Errorf("no complete response within %s", r.ClusterTimeout)
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w: the user needs the verb list for customresourcedefinitions", err)
	}
	return nil, fmt.Errorf("the CRDs of %s cannot be read: %w", host, err)
}
