// Package cluster reads and writes objects in the cluster of a kubeconfig: it connects (connect.go), lists CRDs
// (crds.go), and lists and updates the objects of a CRD (resource.go).
package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// requestTimeout bounds a request to the API server, unless the kubeconfig has another timeout.
const requestTimeout = time.Minute

// Connect returns a client for the cluster of a context, and its address. If kubeconfig or context is empty, the
// default of kubectl applies.
func Connect(kubeconfig, context, userAgent string) (client *rest.RESTClient, host string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	known, err := rules.Load()
	if err != nil {
		return nil, "", err
	}
	if context != "" && known.Contexts[context] == nil {
		return nil, "", fmt.Errorf("the kubeconfig has no context %q: it has %s", context,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(known.Contexts)), ", "), "none (is KUBECONFIG set?)"))
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errors.New("no kubeconfig with a current context was found: set KUBECONFIG, or name a context")
	case err != nil:
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // for Status
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS, config.WarningHandler, config.UserAgent = -1, rest.NoWarnings{}, userAgent
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	h, err := rest.HTTPClientFor(config)
	if err == nil {
		client, err = rest.UnversionedRESTClientForConfigAndClient(config, h)
	}
	return client, config.Host, err
}

// CRDPath is the path of CRDs.
const CRDPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// send sends a request and returns the body of the response. The error has the Status of the API server.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw does not decode the Status
		return nil, err
	}
	return result.Raw()
}

// IsExpired reports whether the token of a list has expired.
func IsExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
