// Package corpus downloads real CRDs and objects: Go modules that contain them, through the module proxy into the
// module cache. Nothing is committed. The JSON of what was read is cached in the user's cache directory. Its key is a
// hash of this package's table.
package corpus

// module is a source: which of its files contain CRDs, objects and test suites.
type module struct {
	path, version string
	// crds and samples are globs. ** crosses directories, a leading ! excludes. A tag before a sample glob ("valid:",
	// "invalid:") is the outcome that the directory promises.
	crds, samples []string
	// suites are globs with a prefix for the format.
	suites []string
}

// RatchetingModule is the module of the objects of upstream's ratcheting test.
const RatchetingModule = "k8s.io/apiextensions-apiserver"

// modules pins exact versions, because the proxy serves a subset of all versions and rejects "latest".
var modules = []module{
	{"sigs.k8s.io/gateway-api", "v1.5.1",
		[]string{"config/crd/standard/*.yaml", "config/crd/experimental/*.yaml"},
		[]string{"valid:examples/**", "invalid:hack/invalid-examples/**", "geps/**", "site-src/**"}, nil},
	{"github.com/cert-manager/cert-manager", "v1.21.2",
		[]string{"deploy/crds/*.yaml"}, []string{"test/**", "design/**"}, nil},
	{"github.com/prometheus-operator/prometheus-operator", "v0.85.0",
		[]string{"example/prometheus-operator-crd-full/*.yaml"},
		[]string{"valid:example/**", "Documentation/**", "!example/prometheus-operator-crd*/**"}, nil},
	{"github.com/crossplane/crossplane", "v1.20.1",
		[]string{"cluster/crds/*.yaml"}, []string{"cluster/**", "test/e2e/manifests/**", "design/**", "!cluster/crds/**"}, nil},
	{"github.com/argoproj/argo-workflows/v3", "v3.7.9",
		[]string{"manifests/base/crds/full/*.yaml"},
		[]string{"invalid:examples/workflow-event-binding/github-path-filter-workflowtemplate.yaml", "invalid:examples/memoize-simple.yaml",
			"valid:examples/**", "test/e2e/**", "workflow/**", "docs/**"}, nil},
	{"github.com/tektoncd/pipeline", "v1.12.1",
		[]string{"config/300-crds/*.yaml"},
		[]string{"examples/v1/pipelineruns/optional-workspaces.yaml", "valid:examples/v1/**", "docs/**", "test/**", "pkg/**"}, nil},
	{"github.com/external-secrets/external-secrets", "v1.3.2",
		[]string{"config/crds/bases/*.yaml"}, []string{"docs/**", "design/**", "tests/__snapshot__/**"}, nil},
	{"github.com/cloudnative-pg/cloudnative-pg", "v1.29.0",
		[]string{"config/crd/bases/*.yaml"},
		[]string{"invalid:docs/src/samples/cluster-restore-with-tablespaces.yaml", "valid:docs/src/samples/**", "docs/**",
			"config/olm-samples/**", "tests/e2e/**", "pkg/**"}, nil},
	{"github.com/fluxcd/source-controller", "v1.8.5",
		[]string{"config/crd/bases/*.yaml"}, []string{"valid:config/samples/*.yaml", "config/testdata/**", "docs/**"}, nil},
	{"github.com/cilium/cilium", "v1.20.2",
		[]string{"pkg/k8s/apis/cilium.io/client/crds/**"},
		[]string{"invalid:examples/policies/l3/requires/requires.yaml", "valid:examples/**", "test/**", "contrib/**", "Documentation/**"}, nil},
	{"github.com/kedacore/keda/v2", "v2.21.0",
		[]string{"config/crd/bases/*.yaml"}, []string{"config/samples/**", "docs/**", "tests/**"}, nil},
	{"github.com/kserve/kserve", "v0.17.0",
		[]string{"test/crds/serving.kserve.io_all_crds.yaml", "test/crds/knative_service.yaml", "test/crds/leaderworkerset*.yaml"},
		[]string{"config/**", "docs/**", "charts/**"}, nil},
	{"sigs.k8s.io/cluster-api", "v1.14.2",
		[]string{"core/config/crd/bases/*.yaml", "bootstrap/kubeadm/config/crd/bases/*.yaml", "controlplane/kubeadm/config/crd/bases/*.yaml",
			"util/test/builder/crd/*.yaml"},
		[]string{"docs/**", "test/**", "core/**"}, nil},
	{"github.com/openshift/hypershift", "v0.1.82",
		[]string{"cmd/install/assets/crds/hypershift-operator/**", "karpenter-operator/controllers/karpenter/assets/zz_generated.crd-manifests/*",
			"!**/tests/**"},
		nil, []string{"openshift:**/tests/*.*/*.yaml"}},
	{"github.com/kgateway-dev/kgateway/v2", "v2.4.2",
		[]string{"install/helm/kgateway-crds/templates/*.yaml"},
		[]string{"pkg/kgateway/translator/gateway/testutils/inputs/**", "examples/**"},
		[]string{"goyaml:test/e2e/tests/apivalidation/*.go"}},
	{RatchetingModule, "v0.36.3",
		[]string{"test/integration/ratcheting_test_cases/crds/*.yaml"},
		[]string{"valid:test/integration/ratcheting_test_cases/valid/**", "invalid:test/integration/ratcheting_test_cases/invalid/**"}, nil},
	{"sigs.k8s.io/kubectl-validate", "v0.0.4",
		[]string{"testcases/crds/*.yaml", "testcases/more-crds/*.yaml"}, nil, []string{"status:testcases/manifests/*.yaml"}},
	{"k8s.io/kube-openapi", "v0.0.0-20260821135717-be32def86098", nil, nil,
		[]string{"jsonschema:pkg/validation/validate/fixtures/jsonschema_suite/**", "jsonschema:pkg/validation/validate/fixtures/formats/*.json"}},
	{"cel.dev/expr", "v0.25.3", nil, nil, []string{"cel:tests/simple/testdata/*.textproto"}},
}
