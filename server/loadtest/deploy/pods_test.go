package deploy

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/crdeval/crdeval/server/app"
	"github.com/crdeval/crdeval/server/settings"
)

// isCrdeval reports whether a container runs crdeval.
func isCrdeval(c corev1.Container) bool { return len(c.Args) > 0 && c.Args[0] == "serve" }

func (p pod) containers() []corev1.Container {
	return slices.Concat(p.spec.InitContainers, p.spec.Containers)
}

// port returns the number of a container port by its name or number, 0 for none.
func (p pod) port(text string) int32 {
	for _, c := range p.containers() {
		for _, port := range c.Ports {
			if port.Name == text || strconv.Itoa(int(port.ContainerPort)) == text {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// check checks volumes, ports, probes and settings.
func (p pod) check(t *testing.T, all objects, external []string) {
	t.Helper()
	exists := func(kind, name string, created bool) {
		t.Helper()
		if !created && !slices.Contains(external, kind+"/"+name) {
			t.Errorf("%s: the %s %s does not exist", p.name, kind, name)
		}
	}
	mounted := map[string]bool{}
	for _, v := range p.spec.Volumes {
		mounted[v.Name] = false
		switch {
		case v.ConfigMap != nil:
			exists("ConfigMap", v.ConfigMap.Name, has[*corev1.ConfigMap](all, v.ConfigMap.Name))
		case v.Secret != nil:
			exists("Secret", v.Secret.SecretName, slices.ContainsFunc(of[*certificate](all), func(c *certificate) bool {
				return c.Spec.SecretName == v.Secret.SecretName
			}))
		case v.PersistentVolumeClaim != nil:
			name := v.PersistentVolumeClaim.ClaimName
			exists("PersistentVolumeClaim", name, has[*corev1.PersistentVolumeClaim](all, name))
		}
	}
	if name := p.spec.ServiceAccountName; name != "" {
		exists("ServiceAccount", name, has[*corev1.ServiceAccount](all, name))
	}
	for _, c := range p.containers() {
		paths := map[string]bool{}
		for _, m := range c.VolumeMounts {
			if _, found := mounted[m.Name]; !found {
				t.Errorf("%s: the volume %s does not exist", c.Name, m.Name)
			}
			if mounted[m.Name] = true; paths[m.MountPath] || m.SubPath != "" {
				t.Errorf("%s: %s is mounted twice, or with subPath, which never changes", c.Name, m.MountPath)
			}
			paths[m.MountPath] = true
		}
		if isCrdeval(c) {
			p.checkServer(t, c)
		}
	}
	for name, used := range mounted {
		if !used {
			t.Errorf("%s: no container mounts the volume %s", p.name, name)
		}
	}
}

func has[T metav1.Object](all objects, name string) bool {
	return slices.ContainsFunc(of[T](all), func(o T) bool { return o.GetName() == name })
}

// checkServer checks a container that runs crdeval.
func (p pod) checkServer(t *testing.T, c corev1.Container) {
	t.Helper()
	config := settingsOf(t, c)
	var listening []string
	for _, address := range slices.Concat(config.GRPCAddress, config.HTTPAddress, []string{config.MetricsAddress}) {
		if i := strings.LastIndexByte(address, ':'); i >= 0 && !strings.HasPrefix(address, "unix:") && !strings.HasPrefix(address, "127.") {
			listening = append(listening, address[i+1:])
		}
	}
	for _, port := range c.Ports {
		if !slices.Contains(listening, strconv.Itoa(int(port.ContainerPort))) {
			t.Errorf("%s: crdeval does not listen on port %s %d", c.Name, port.Name, port.ContainerPort)
		}
	}
	for name, probe := range map[string]*corev1.Probe{"liveness": c.LivenessProbe, "readiness": c.ReadinessProbe, "startup": c.StartupProbe} {
		if probe == nil {
			if name != "startup" {
				t.Errorf("%s: no %s probe", c.Name, name)
			}
			continue
		}
		if got := p.port(probe.HTTPGet.Port.String()); !strings.HasSuffix(config.MetricsAddress, ":"+strconv.Itoa(int(got))) {
			t.Errorf("%s: the %s probe uses port %s, --metrics-address is %s", c.Name, name, &probe.HTTPGet.Port, config.MetricsAddress)
		}
		if path := probe.HTTPGet.Path; path != "/healthz" && path != "/readyz" {
			t.Errorf("%s: the %s probe gets %s", c.Name, name, path)
		}
	}
	files := []string{config.TLSCert, config.TLSKey, config.TLSClientCA, config.AuthTokenFile, config.AccessFile, config.EtcdCA, config.EtcdCert, config.EtcdKey, config.EtcdPasswordFile}
	files = append(files, config.CRDs...)
	if config.Store == app.StoreBolt {
		files = append(files, config.DataDir)
	}
	for _, file := range files {
		if file != "" && !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool {
			return file == m.MountPath || strings.HasPrefix(file, m.MountPath+"/")
		}) {
			t.Errorf("%s: no volume is mounted for %s", c.Name, file)
		}
	}
	s, all := c.SecurityContext, p.spec.SecurityContext
	if s == nil || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%s: security context %+v", c.Name, s)
	}
	if all == nil || !*all.RunAsNonRoot || all.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: security context of the pod %+v", p.name, all)
	}
	if c.Resources.Limits.Memory().IsZero() {
		t.Errorf("%s: no memory limit, from which crdeval derives its own limits", c.Name)
	}
	checkMemory(t, c, config, settings.Bytes(c.Resources.Limits.Memory().Value()))
	grace := p.spec.TerminationGracePeriodSeconds
	if need := config.DrainDelay + config.DrainTimeout; grace == nil || float64(*grace) <= need.Seconds() {
		t.Errorf("%s: the grace period %v is not longer than draining, %v", p.name, grace, need)
	}
}

// checkMemory checks that the server does not use more memory than the limit of its container or unit. GOMEMLIMIT is
// not accepted: the server would derive --memory from it, and not from the limit.
func checkMemory(t *testing.T, c corev1.Container, config app.Config, limit settings.Bytes) {
	t.Helper()
	if config.Memory > limit {
		t.Errorf("%s: --memory=%v exceeds the limit %v", c.Name, config.Memory, limit)
	}
	if slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" }) {
		t.Errorf("%s: set CRDEVAL_MEMORY instead of GOMEMLIMIT", c.Name)
	}
}

// settingsOf parses the arguments and the environment of a container like crdeval serve in the image.
func settingsOf(t *testing.T, c corev1.Container) (config app.Config) {
	t.Helper()
	known := variables()
	arguments := []string{"--grpc-address=:9090", "--http-address=:8080", "--data-dir=/data"} // the environment of the image
	for _, e := range c.Env {
		flag, ours := strings.CutPrefix(e.Name, "CRDEVAL_")
		if !ours {
			continue
		}
		if !slices.Contains(known, e.Name) {
			t.Errorf("%s is not a setting", e.Name)
			continue
		}
		flag = "--" + strings.ToLower(strings.ReplaceAll(flag, "_", "-"))
		arguments = append(slices.DeleteFunc(arguments, func(a string) bool { return strings.HasPrefix(a, flag+"=") }), flag+"="+e.Value)
	}
	for _, a := range c.Args[1:] {
		flag, _, _ := strings.Cut(a, "=")
		arguments = append(slices.DeleteFunc(arguments, func(a string) bool { return strings.HasPrefix(a, flag+"=") }), a)
	}
	config, err := app.Defaults(arguments...)
	if err != nil {
		t.Errorf("%s: %v: %v", c.Name, arguments, err)
	}
	return config
}

// variables returns the environment variables of crdeval serve.
func variables() (names []string) {
	for _, o := range settings.Declare(&app.Config{}, app.EnvironmentPrefix).Settings {
		names = append(names, o.Variable)
	}
	return names
}
