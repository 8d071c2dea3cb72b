// Package served serves one CRD with the API server's own handler of custom resources, from storages that a suite
// provides. So its answers are upstream's.
package served

import (
	"net/http"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission"
)

// maxBody is the largest request body of an API server.
const maxBody = 3 << 20

// Handler serves a CRD with accepted names, as if it had been served for long. admit can be nil.
func Handler(crd *apiextensionsv1.CustomResourceDefinition, open Open, admit admission.Interface) (http.Handler, error) {
	informer := externalversions.NewSharedInformerFactory(nil, 0).Apiextensions().V1().CustomResourceDefinitions()
	if err := informer.Informer().GetIndexer().Add(established(crd)); err != nil {
		return nil, err
	}
	return apiserver.NewCustomResourceDefinitionHandler(nil, nil, informer, http.NotFoundHandler(), open, admit, nil, nil, nil, 1, nil,
		time.Minute, time.Minute, nil, maxBody)
}

// established returns a CRD with the conditions of one that was established long ago: the handler waits two seconds
// before it serves a new one.
func established(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	crd = crd.DeepCopy()
	crd.UID = types.UID(crd.Name)
	then := metav1.NewTime(time.Unix(1700000000, 0))
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{
		{Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: then},
		{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, LastTransitionTime: then},
	}
	return crd
}
