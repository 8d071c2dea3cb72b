package deploy

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// folder is the folder deploy of the repository.
const folder = "../../../deploy/"

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(folder + name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// TestManifests decodes the manifests strictly, and checks that their objects refer to each other.
func TestManifests(t *testing.T) {
	for name, external := range map[string][]string{ // objects that the comments tell users to create
		"sidecar.yaml":               {"ConfigMap/example-crds"},
		"apiserver/statefulset.yaml": {"Secret/crdeval-apiserver-tls", "Secret/crdeval-apiserver-tokens"},
		"webhooks.yaml":              {"ConfigMap/crdeval-crds"},
		"conversion.yaml":            {"ConfigMap/crdeval-crds", "Secret/crdeval-tls"},
	} {
		t.Run(name, func(t *testing.T) {
			all := decodeObjects(t, readFile(t, name))
			if len(all.pods(t)) != 1 {
				t.Errorf("%d pods", len(all.pods(t)))
			}
			all.check(t, external...)
			for _, p := range all.pods(t) {
				for _, c := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
					name, tag, _ := strings.Cut(c.Image, ":")
					if strings.HasPrefix(name, "crdeval") && (tag != "devel" || !slices.Contains(programs, name)) {
						t.Errorf("make image does not build %s", c.Image)
					}
				}
			}
		})
	}
}

// Users can apply both manifests to one cluster.
func TestWebhookManifestsAgree(t *testing.T) {
	admission, conversion := decodeObjects(t, readFile(t, "webhooks.yaml")), decodeObjects(t, readFile(t, "conversion.yaml"))
	if a, c := of[*corev1.Service](admission), of[*corev1.Service](conversion); !reflect.DeepEqual(a, c) {
		t.Errorf("the services differ: %+v, %+v", a, c)
	}
	if a, c := of[*appsv1.Deployment](admission), of[*appsv1.Deployment](conversion); !reflect.DeepEqual(a, c) {
		t.Errorf("the deployments differ: %+v, %+v", a, c)
	}
}

// TestSettingsExist finds settings also in comments and in files that are not manifests.
func TestSettingsExist(t *testing.T) {
	known := variables()
	files, err := filepath.Glob(folder + "*")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`CRDEVAL_[A-Z_]+`).FindAllString(string(content), -1) {
			found++
			if !slices.Contains(known, name) {
				t.Errorf("%s sets %s, which is not a setting", path, name)
			}
		}
	}
	if found == 0 {
		t.Error("no settings found: this tests nothing")
	}
}

// TestCompose checks the replicas of compose.yaml: settings, directories and ports.
func TestCompose(t *testing.T) {
	var file struct {
		Services map[string]struct {
			Image          string
			Environment    map[string]string
			Ports, Volumes []string
		}
	}
	if err := yaml.Unmarshal(readFile(t, "compose.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	replicas, ports := 0, map[string]bool{}
	for name, s := range file.Services {
		if s.Image != "crdeval:devel" {
			continue
		}
		replicas++
		container := corev1.Container{Name: name, Args: []string{"serve"}}
		for variable, value := range s.Environment {
			container.Env = append(container.Env, corev1.EnvVar{Name: variable, Value: value})
		}
		config := settingsOf(t, container)
		for _, port := range s.Ports {
			inside := port[strings.LastIndexByte(port, ':'):]
			if ports[port] || !slices.Contains(config.GRPCAddress, inside) && !slices.Contains(config.HTTPAddress, inside) {
				t.Errorf("%s: port %s is published twice, or crdeval does not listen on it", name, port)
			}
			ports[port] = true
		}
		for _, volume := range s.Volumes {
			source, target, _ := strings.Cut(volume, ":")
			if _, err := os.Stat(filepath.Join(folder, source)); err != nil || !slices.Contains(config.CRDs, strings.TrimSuffix(target, ":ro")) {
				t.Errorf("%s: volume %s: %v, --crds is %v", name, volume, err, config.CRDs)
			}
		}
	}
	if replicas != 3 || len(ports) != 6 {
		t.Errorf("%d replicas with %d ports", replicas, len(ports))
	}
}
