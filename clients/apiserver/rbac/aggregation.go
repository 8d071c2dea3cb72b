package rbac

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	informers "k8s.io/client-go/informers/rbac/v1"
	typedrbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

// retryInterval is the time after which a failed aggregation is repeated.
const retryInterval = time.Second

// aggregation writes the rules of aggregated cluster roles.
type aggregation struct {
	client  typedrbacv1.ClusterRoleInterface
	lister  listers.ClusterRoleLister
	changed chan struct{} // capacity 1
}

func newAggregation(client typedrbacv1.ClusterRoleInterface, informer informers.ClusterRoleInformer) (*aggregation, error) {
	a := &aggregation{client, informer.Lister(), make(chan struct{}, 1)}
	_, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { a.signal() },
		UpdateFunc: func(any, any) { a.signal() },
		DeleteFunc: func(any) { a.signal() },
	})
	return a, err
}

func (a *aggregation) signal() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// run aggregates after each change, until the context ends.
func (a *aggregation) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.changed:
		}
		if err := a.aggregate(ctx); err != nil {
			utilruntime.HandleErrorWithContext(ctx, err, "Aggregate cluster roles")
			time.AfterFunc(retryInterval, a.signal)
		}
	}
}

func (a *aggregation) aggregate(ctx context.Context) error {
	roles, err := a.lister.List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(roles, func(x, y *rbacv1.ClusterRole) int { return strings.Compare(x.Name, y.Name) })
	var errs []error
	for _, r := range roles {
		if r.AggregationRule == nil {
			continue
		}
		rules, err := aggregated(r, roles)
		if err == nil && !equality.Semantic.DeepEqual(rules, r.Rules) {
			r = r.DeepCopy()
			r.Rules = rules
			_, err = a.client.Update(ctx, r, metav1.UpdateOptions{})
		}
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) { // another change follows
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// aggregated returns the rules of the roles that a role selects, each once.
func aggregated(r *rbacv1.ClusterRole, roles []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	var rules []rbacv1.PolicyRule
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, err
		}
		for _, other := range roles {
			if other.Name == r.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			for _, rule := range other.Rules {
				if !slices.ContainsFunc(rules, func(known rbacv1.PolicyRule) bool { return equality.Semantic.DeepEqual(known, rule) }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, nil
}
