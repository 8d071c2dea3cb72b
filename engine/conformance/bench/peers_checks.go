package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// check is an object that deviates in one feature from an object that all validators accept.
type check struct{ Name, Object, Old string }

const (
	checkHead     = `{"apiVersion":"checks.example.com/v1","kind":"Probe",`
	checkMetadata = checkHead + `"metadata":{"name":"probe","namespace":"default"},`
	storedHead    = checkHead + `"metadata":{"name":"probe","namespace":"default","resourceVersion":"17",` +
		`"uid":"7a1c52de-6a0c-4f0b-9f1b-3a4a3c1f0001","generation":3},`
)

// body returns the object with apiVersion, kind and metadata.
func (c check) body() []byte {
	head := checkMetadata
	if c.Old != "" {
		head = storedHead
	} else if strings.HasPrefix(c.Object, `{"metadata"`) {
		head = checkHead
	}
	return []byte(head + strings.TrimPrefix(c.Object, "{"))
}

func (c check) old() []byte { return []byte(storedHead + strings.TrimPrefix(c.Old, "{")) }

// checkVerdicts prints for each check whether upstream accepts the object, and which peers return another verdict. Ours
// must be upstream's. Peers do not know the stored object of an update.
func checkVerdicts(o Options, name string, _ *object) (line string, err error) {
	list, obj, err := loadChecks(o.Folder)
	if err != nil {
		return "", err
	}
	of, err := o.newContest(obj)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, of.close()) }()
	for _, p := range of.peers {
		valid, reason, err := p.process.judge(of.in.object)
		if err == nil && !valid {
			err = fmt.Errorf("it rejects the valid object: %s", reason)
		}
		if err != nil {
			return "", p.named(err)
		}
	}
	var lines []string
	for _, c := range list {
		ours, upstream := c.judge(of.us, of.them)
		if (ours == nil) != (upstream == nil) {
			return "", fmt.Errorf("%s: ours %v, upstream %v", c.Name, ours, upstream) //nolint:errorlint // one is nil
		}
		o.progress("%s: upstream: %v", c.Name, upstream)
		if err := os.WriteFile(of.in.object, c.body(), 0o600); err != nil {
			return "", err
		}
		line := fmt.Sprintf("%s  %s: upstream and ours %s it", name, c.Name, verb(upstream == nil))
		for _, p := range of.peers {
			valid, reason, err := p.process.judge(of.in.object)
			if err != nil {
				return "", p.named(err)
			}
			if !valid {
				o.progress("%s: %s: %s", c.Name, p.name, reason)
			}
			if valid != (upstream == nil) {
				line += fmt.Sprintf("  %s %s", p.name, verb(valid))
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}

// judge returns our error and upstream's for the creation or the update.
func (c check) judge(us *ours, them *upstream) (ours, upstream error) {
	if c.Old != "" {
		_, ours = us.update(c.old(), c.body())
		_, upstream = them.update(c.old(), c.body())
		return ours, upstream
	}
	_, ours = us.create(c.body())
	_, upstream = them.create(c.body())
	return ours, upstream
}

func verb(accepts bool) string {
	if accepts {
		return "accept"
	}
	return "reject"
}

// loadChecks returns the checks, and a valid object with their CRD.
func loadChecks(folder string) ([]check, *object, error) {
	text, err := os.ReadFile(filepath.Join(folder, "checks", "checks.yaml"))
	if err != nil {
		return nil, nil, err
	}
	var list []check
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, nil, err
	}
	for _, c := range list {
		if !json.Valid(c.body()) || !bytes.Contains(c.body(), []byte(`"metadata"`)) {
			return nil, nil, fmt.Errorf("%s is not JSON: %s", c.Name, c.body())
		}
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "checks", "crd.yaml"))
	if err == nil {
		manifest, err = yaml.YAMLToJSON(manifest)
	}
	if err != nil {
		return nil, nil, err
	}
	valid := check{Object: `{"spec":{"mode":"fast","size":5,"port":"http","ports":[{"name":"web"}]}}`}
	obj, err := newObject("checks", manifest, valid.body(), nil)
	return list, obj, err
}
