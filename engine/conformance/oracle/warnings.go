package oracle

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/warning"
)

// headers collects distinct warning headers like the API server's recorder.
type headers struct{ texts []string }

func (h *headers) add(texts ...string) {
	for _, text := range texts {
		known := false
		for _, t := range h.texts {
			known = known || t == text
		}
		if !known {
			h.texts = append(h.texts, text)
		}
	}
}

// addSorted adds texts whose order is random, because it is that of a Go map.
func (h *headers) addSorted(texts []string) {
	sort.Strings(texts)
	h.add(texts...)
}

// sent returns the texts that a client reads from the headers of the API server's own recorder.
func (h *headers) sent() (texts []string) {
	if len(h.texts) == 0 {
		return nil
	}
	response := httptest.NewRecorder()
	filters.WithWarningRecorder(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		for _, text := range h.texts {
			warning.AddWarning(request.Context(), "", text)
		}
	})).ServeHTTP(response, httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", nil))
	written, _ := utilnet.ParseWarningHeaders(response.Header()["Warning"])
	for _, w := range written {
		texts = append(texts, w.Text)
	}
	return texts
}

// yamlWarnings reproduces parseYAMLWarnings (endpoints/handlers/rest.go): each line of the YAML decoder's error becomes
// a warning.
func yamlWarnings(text string) []string {
	rest, list := strings.CutPrefix(text, `error converting YAML to JSON: yaml: unmarshal errors:`+"\n")
	if !list {
		if rest, list = strings.CutPrefix(text, "yaml: unmarshal errors:\n"); !list {
			return []string{text}
		}
	}
	lines := strings.Split(rest, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// deprecation reproduces the warnings of getOrCreateServingInfoFor for a deprecated version, and
// defaultDeprecationWarning.
func deprecation(crd *apiextensionsv1.CustomResourceDefinition, v apiextensionsv1.CustomResourceDefinitionVersion) []string {
	if !v.Deprecated {
		return nil
	}
	if v.DeprecationWarning != nil {
		return []string{*v.DeprecationWarning}
	}
	text := fmt.Sprintf("%s/%s %s is deprecated", crd.Spec.Group, v.Name, crd.Spec.Names.Kind)
	var better []string
	for _, o := range crd.Spec.Versions {
		if o.Served && !o.Deprecated && kubeversion.CompareKubeAwareVersionStrings(v.Name, o.Name) < 0 {
			better = append(better, o.Name)
		}
	}
	if len(better) == 0 {
		return []string{text}
	}
	sort.Slice(better, func(i, j int) bool { return kubeversion.CompareKubeAwareVersionStrings(better[i], better[j]) > 0 })
	return []string{text + fmt.Sprintf("; use %s/%s %s", crd.Spec.Group, better[0], crd.Spec.Names.Kind)}
}
