package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/crdeval/crdeval/engine/testenv"
)

const chart = folder + "chart/crdeval"

// tool builds a program of a module in .tools and returns its path in Go's build cache.
func tool(module, program string) (string, error) {
	build := exec.Command("go", "tool", "-n", program)
	build.Dir = filepath.Join("../../../.tools", module)
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	out, err := build.Output()
	return strings.TrimSpace(string(out)), err
}

var helmPath = sync.OnceValues(func() (string, error) { return tool("helm", "helm.sh/helm/v4/cmd/helm") })

// helm runs Helm with values, and returns its output.
func helm(t *testing.T, values string, arguments ...string) ([]byte, error) {
	t.Helper()
	path, err := helmPath()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), path, append(arguments, "--values", "-")...)
	home := t.TempDir()
	c.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	c.Stdin = strings.NewReader(values)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		out = append(out, stderr.Bytes()...)
	}
	return out, err
}

// render renders a chart and checks the objects.
func render(t *testing.T, directory, values string, external ...string) objects {
	t.Helper()
	out, err := helm(t, values, "template", "release", directory, "--namespace", "system", "--kube-version", "1.37.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := decodeObjects(t, out)
	all.check(t, external...)
	return all
}

const (
	someRules = `rules: [{apiGroups: [stable.example.com], apiVersions: [v1], operations: [CREATE], resources: [crontabs]}]`
	someFiles = `crds: {files: {a.yaml: "{}"}}`
)

func TestChart(t *testing.T) {
	testenv.E2E(t)
	for name, test := range map[string]struct {
		values   string
		external []string
		want     string // types of the objects
		args     string // of crdeval, among others
	}{
		"defaults":             {"{}", nil, "Deployment PodDisruptionBudget Service ServiceAccount", "--store=memory --drain-delay=5s"},
		"one replica":          {"replicas: 1", nil, "Deployment Service ServiceAccount", ""},
		"bolt":                 {"{store: {type: bolt}, replicas: 1}", nil, "Deployment PersistentVolumeClaim Service ServiceAccount", "--data-dir=/data"},
		"bolt, existing claim": {"{store: {type: bolt, bolt: {existingClaim: mine}}, replicas: 1}", []string{"PersistentVolumeClaim/mine"}, "Deployment Service ServiceAccount", ""},
		"etcd": {
			"{store: {type: etcd, etcd: {endpoints: ['https://a:2379', 'https://b:2379'], tlsSecret: etcd-tls, hasClientCertificate: true, user: me, passwordSecret: secret}}}",
			[]string{"Secret/etcd-tls", "Secret/secret"}, "Deployment PodDisruptionBudget Service ServiceAccount",
			"--etcd-endpoints=https://a:2379,https://b:2379 --etcd-cert=/etcd-tls/tls.crt --etcd-user=me",
		},
		"files and ConfigMaps": {
			"{crds: {catalog: prod, files: {a.yaml: '{}', b.json: '{}'}, configMaps: [one, two.three]}}", []string{"ConfigMap/one", "ConfigMap/two.three"},
			"ConfigMap Deployment PodDisruptionBudget Service ServiceAccount", "--crds=/crds/files,/crds/one,/crds/two.three --crds-catalog=prod",
		},
		"secrets": {
			"{tls: {secret: mine, clientCASecret: ca}, auth: {tokenSecret: tokens, accessSecret: roles}, serviceAccount: {create: false}}",
			[]string{"Secret/mine", "Secret/ca", "Secret/tokens", "Secret/roles", "ServiceAccount/default"}, "Deployment PodDisruptionBudget Service",
			"--tls-cert=/tls/tls.crt --tls-client-ca=/client-ca/ca.crt --auth-token-file=/auth/tokens --access-file=/access/access.yaml",
		},
		"webhooks": {
			"{webhooks: {enabled: true, " + someRules + ", namespaceSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: Exists}]}}, tls: {certManager: true}, " + someFiles + "}", nil,
			"Certificate Certificate ConfigMap Deployment Issuer Issuer MutatingWebhookConfiguration PodDisruptionBudget Service ServiceAccount ValidatingWebhookConfiguration", "--tls-key=/tls/tls.key",
		},
		"validating, own issuer": {
			"{webhooks: {enabled: true, mutating: false, caBundle: YQ==, " + someRules + "}, tls: {secret: mine}}", []string{"Secret/mine"},
			"Deployment PodDisruptionBudget Service ServiceAccount ValidatingWebhookConfiguration", "",
		},
		"autoscaling, policy, monitoring, settings": {
			`{autoscaling: {enabled: true}, networkPolicy: {enabled: true, from: [{podSelector: {}}], metricsFrom: [{namespaceSelector: {}}], egress: [{to: [{podSelector: {}}]}]},
			monitoring: {podMonitor: {enabled: true, labels: {a: b}}, rules: {enabled: true}, dashboard: {enabled: true}},
			settings: {max-document-bytes: 1MiB, max-batch-items: 1000000, log-level: warn}, nodeSelector: {a: b}, priorityClassName: high, podLabels: {a: b, app.kubernetes.io/version: c},
			podAnnotations: {a: b}, tolerations: [{operator: Exists}], imagePullSecrets: [{name: a}], affinity: {nodeAffinity: {}}, service: {annotations: {a: b}}}`, nil,
			"ConfigMap Deployment HorizontalPodAutoscaler NetworkPolicy PodDisruptionBudget PodMonitor PrometheusRule Service ServiceAccount",
			"--max-document-bytes=1MiB --max-batch-items=1000000 --log-level=warn",
		},
		"sidecar":       {"{mode: sidecar, " + someFiles + "}", nil, "ConfigMap", ""},
		"sidecar, bolt": {"{mode: sidecar, store: {type: bolt}, " + someFiles + "}", nil, "ConfigMap", ""},
		"texts that YAML reads as other values": {
			`{store: {type: etcd, etcd: {endpoints: ['http://a:1'], prefix: "/a #b/", user: "a: b", passwordSecret: "1"}}, tls: {secret: "2"}, auth: {tokenSecret: "3", accessSecret: "4"},
			crds: {configMaps: ["5"]}, priorityClassName: "6", serviceAccount: {create: false, name: "7"}, webhooks: {enabled: true, caBundle: "1234", ` + someRules + `}}`,
			[]string{"Secret/1", "Secret/2", "Secret/3", "Secret/4", "ConfigMap/5", "ServiceAccount/7"},
			"Deployment MutatingWebhookConfiguration PodDisruptionBudget Service ValidatingWebhookConfiguration", "--etcd-prefix=/a #b/ --etcd-user=a: b",
		},
		"dashboard without labels": {
			"{monitoring: {dashboard: {enabled: true, labels: {grafana_dashboard: null}}}}", nil,
			"ConfigMap Deployment PodDisruptionBudget Service ServiceAccount", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := render(t, chart, test.values, test.external...)
			if got := typesOf(all); got != test.want {
				t.Errorf("the chart has %s, not %s", got, test.want)
			}
			if len(all.pods(t)) == 0 {
				return
			}
			args := strings.Join(all.pods(t)[0].spec.Containers[0].Args, " ") + " "
			for want := range strings.FieldsSeq(test.args) {
				if !strings.Contains(args, want+" ") {
					t.Errorf("the arguments %s do not contain %s", args, want)
				}
			}
			out, err := helm(t, test.values, "lint", "--strict", chart)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// TestChartNumbers: a release and a namespace can have numbers as names.
func TestChartNumbers(t *testing.T) {
	testenv.E2E(t)
	out, err := helm(t, "{webhooks: {enabled: true, "+someRules+"}, tls: {certManager: true}}", "template", "7", chart, "--namespace", "8", "--kube-version", "1.37.0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	decodeObjects(t, out).check(t)
}

// typesOf returns the sorted types of objects.
func typesOf(all objects) string {
	var types []string
	for _, o := range all {
		name := fmt.Sprintf("%T", o) // such as *v1.Service or *deploy.certificate
		name = name[strings.LastIndexByte(name, '.')+1:]
		types = append(types, strings.ToUpper(name[:1])+name[1:])
	}
	slices.Sort(types)
	return strings.Join(types, " ")
}

// A chart that includes the container gets a complete pod.
func TestChartAsSidecar(t *testing.T) {
	testenv.E2E(t)
	parent := filepath.Join(t.TempDir(), "parent")
	if err := os.CopyFS(parent, os.DirFS("testdata/parent")); err != nil {
		t.Fatal(err)
	}
	link, err := filepath.Abs(chart)
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(parent, "charts"), 0o755), os.Symlink(link, filepath.Join(parent, "charts", "crdeval")))
	}
	if err != nil {
		t.Fatal(err)
	}
	all := render(t, parent, "{}")
	if got := typesOf(all); got != "ConfigMap Pod" {
		t.Errorf("the chart has %s", got)
	}
	if p := all.pods(t)[0]; p.spec.InitContainers[0].RestartPolicy == nil || len(p.spec.Volumes) != 3 {
		t.Errorf("%+v", p.spec)
	}
}

func TestChartRejects(t *testing.T) {
	testenv.E2E(t)
	for values, want := range map[string]string{
		"{replica: 1}":                       "replica",
		"{mode: daemon}":                     "mode",
		"{replicas: two}":                    "replicas",
		"{store: {type: sqlite}}":            "store",
		"{store: {type: etcd}, replicas: 3}": "endpoints",
		"{store: {etcd: {user: me}}}":        "passwordSecret",
		"{store: {type: bolt}}":              "store.type bolt allows one replica",
		"{store: {type: bolt}, replicas: 1, autoscaling: {enabled: true}}":                         "store.type bolt allows one replica",
		"{resources: {limits: {memory: null}}}":                                                    "memory",
		"{tls: {clientCASecret: ca}}":                                                              "tls.clientCASecret requires TLS",
		"{autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 2}}":                           "minReplicas exceeds",
		"{settings: {Log-Level: warn}}":                                                            "Log-Level",
		"{settings: {log-level: [warn]}}":                                                          "log-level",
		"{crds: {files: {../a.yaml: x}}}":                                                          "../a.yaml", // Helm names a random place
		"{webhooks: {enabled: true}, tls: {certManager: true}}":                                    "rules",
		"{webhooks: {enabled: true, " + someRules + "}}":                                           "only over TLS",
		"{webhooks: {enabled: true, " + someRules + "}, tls: {secret: a}}":                         "caBundle is required",
		"{podLabels: {app.kubernetes.io/name: a}}":                                                 "podLabels cannot have app.kubernetes.io/name, which the chart sets",
		"{monitoring: {podMonitor: {enabled: true, labels: {helm.sh/chart: a}}}}":                  "monitoring.podMonitor.labels cannot have helm.sh/chart",
		"{monitoring: {rules: {enabled: true, labels: {app.kubernetes.io/version: a}}}}":           "monitoring.rules.labels cannot have app.kubernetes.io/version",
		"{monitoring: {dashboard: {enabled: true, labels: {app.kubernetes.io/instance: a}}}}":      "monitoring.dashboard.labels cannot have app.kubernetes.io/instance",
		"{webhooks: {failurePolicy: Never}}":                                                       "failurePolicy",
		"{networkPolicy: {enabled: true}, store: {type: etcd, etcd: {endpoints: ['http://a:1']}}}": "must allow connections to etcd",
	} {
		out, err := helm(t, values, "template", "release", chart)
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.600s", values, err, out)
		}
	}
}
