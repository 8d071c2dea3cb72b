package workspace

import (
	"slices"
	"strings"
)

// builtInGroups are the API groups that API servers and usual aggregated API servers have without CRDs, besides those with a suffix of builtInSuffixes.
// The list has groups of old versions, too.
//
// Upstream: k8s.io/kubernetes, pkg/controlplane/apiserver and pkg/apis.
var builtInGroups = []string{
	"", // the core group
	"abac.authorization.kubernetes.io", "admission.k8s.io", "admissionregistration.k8s.io", "apiextensions.k8s.io",
	"apidiscovery.k8s.io", "apiregistration.k8s.io", "apps", "audit.k8s.io", "authentication.k8s.io",
	"authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io", "client.authentication.k8s.io",
	"coordination.k8s.io", "custom.metrics.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions", "external.metrics.k8s.io", "flowcontrol.apiserver.k8s.io",
	"imagepolicy.k8s.io", "internal.apiserver.k8s.io", "kubeadm.k8s.io", "metrics.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
	"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "settings.k8s.io", "storage.k8s.io",
	"storagemigration.k8s.io",
}

// builtInSuffixes end the groups of the configuration files of Kubernetes' components: kubelet.config.k8s.io.
var builtInSuffixes = []string{".config.k8s.io"}

// isBuiltIn reports whether a kind with this apiVersion is one of Kubernetes' own: of an API server, or in the
// configuration file of a component.
func isBuiltIn(apiVersion string) bool {
	group := GroupOf(apiVersion)
	if group == "" {
		return isVersion(apiVersion)
	}
	return slices.Contains(builtInGroups, group) ||
		slices.ContainsFunc(builtInSuffixes, func(suffix string) bool { return strings.HasSuffix(group, suffix) })
}

// IsTyped reports whether the manifest has a kind, and an apiVersion that an API server can have: that of a kind of
// Kubernetes, or one whose group has a dot, as those of CRDs have. The values of Helm charts have neither, and the
// configurations of many tools have other apiVersions.
func (m *Manifest) IsTyped() bool {
	return m.Kind != "" && m.APIVersion != "" && (strings.Contains(GroupOf(m.APIVersion), ".") || isBuiltIn(m.APIVersion))
}

// isVersion reports whether a text is a version as API servers use it: v1, v2beta1.
func isVersion(text string) bool {
	rest, ok := strings.CutPrefix(text, "v")
	return ok && rest != "" && rest[0] >= '1' && rest[0] <= '9'
}

// GroupOf returns the group of an apiVersion, "" for the core group.
func GroupOf(apiVersion string) string { return apiVersion[:max(0, strings.Index(apiVersion, "/"))] }

// VersionOf returns the version of an apiVersion.
func VersionOf(apiVersion string) string { return apiVersion[strings.Index(apiVersion, "/")+1:] }
