//go:build cluster

package cluster

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// migrate takes CronTabs from v1beta1 to v1 as Kubernetes' documentation describes: both versions are used side by
// side, then the storage version changes, all objects are migrated, and v1beta1 is removed. Each step continues with
// the objects of the steps before it. rewrite writes all objects at v1, and trims the stored versions.
func migrate(t *testing.T, w webhook, rewrite func(*migration)) {
	c := &migration{registerCronTabs(t, w), map[string]string{}}
	for _, step := range []struct {
		name string
		run  func(*migration)
	}{
		{"write", (*migration).write},
		{"read", (*migration).read},
		{"watch", (*migration).watch},
		{"apply", (*migration).apply},
		{"apply without fields", (*migration).applyWithoutFields},
		{"unconvertible", (*migration).unconvertible},
		{"storage version", (*migration).switchStorage},
		{"migrate", rewrite},
		{"remove", (*migration).removeBefore},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			c.t = t
			step.run(c)
		}) {
			return
		}
	}
}

// migration is the state of migrate.
type migration struct {
	*crontabs
	want map[string]string // host and port, separated by a colon, of each CronTab
}

// objects is the number of CronTabs that write creates, beside those of the documentation.
const objects = 45

func (m *migration) write() {
	m.want["local-crontab"], m.want["remote-crontab"] = "localhost:1234", "example.com:2345"
	for i := range objects {
		m.want[fmt.Sprintf("crontab-%d", i)] = fmt.Sprintf("host-%d:%d", i, 1000+i)
	}
	for name, hostPort := range m.want {
		m.create(before, name, hostPort)
	}
	m.want["written-at-v1"] = "late.example.com:99"
	m.create(after, "written-at-v1", "late.example.com:99")
	m.checkStored(before, slices.Collect(maps.Keys(m.want))...)
}

// read gets and lists all objects at both versions.
func (m *migration) read() {
	for _, version := range []string{before, after} {
		for name, hostPort := range m.want {
			object, err := m.at(version).Get(m.t.Context(), name, metav1.GetOptions{})
			m.check(version, object, err, hostPort)
		}
		m.checkAll(version, m.list(version, metav1.ListOptions{}))
		m.checkAll(version, m.list(version, metav1.ListOptions{Limit: 20}))
		m.checkAll(version, m.list(version, metav1.ListOptions{ResourceVersion: "0"})) // from the watch cache
	}
}

// watch receives all objects at v1, and then what is written at both versions.
func (m *migration) watch() {
	list := true
	events, err := m.at(after).Watch(m.t.Context(), metav1.ListOptions{
		SendInitialEvents: &list, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	defer events.Stop()
	next := func() watch.Event {
		select {
		case event := <-events.ResultChan():
			return event
		case <-time.After(patience):
			m.t.Fatal("no event")
			return watch.Event{}
		}
	}
	check := func(event watch.Event, want watch.EventType) *unstructured.Unstructured {
		m.t.Helper()
		object, ok := event.Object.(*unstructured.Unstructured)
		if event.Type != want || !ok {
			m.t.Fatalf("event %s %v, want %s", event.Type, event.Object, want)
		}
		return object
	}
	all := map[string]*unstructured.Unstructured{}
	for event := next(); event.Type != watch.Bookmark; event = next() {
		object := check(event, watch.Added)
		all[object.GetName()] = object
	}
	m.checkAll(after, all)

	const name = "watched"
	object := m.create(before, name, "a:1")
	object.Object["hostPort"] = "b:1"
	object, err = m.at(before).Update(m.t.Context(), object, metav1.UpdateOptions{})
	m.check(before, object, err, "b:1")
	patch := []byte(`{"port": "2"}`)
	object, err = m.at(after).Patch(m.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	m.check(after, object, err, "b:2")
	if err := m.at(before).Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
	for _, want := range []struct {
		event    watch.EventType
		hostPort string
	}{{watch.Added, "a:1"}, {watch.Modified, "b:1"}, {watch.Modified, "b:2"}, {watch.Deleted, "b:2"}} {
		event := next()
		for event.Type == watch.Bookmark {
			event = next()
		}
		m.check(after, check(event, want.event), nil, want.hostPort)
	}
}

// apply applies one object at both versions, with two managers that contend for its fields.
func (m *migration) apply() {
	const name = "applied"
	applied, err := m.applyAs("owner", before, false, manifest(before, name, fields(before, "apply:1")))
	m.check(before, applied, err, "apply:1")
	_, err = m.applyAs("other", after, false, manifest(after, name, map[string]any{"port": "2"}))
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "owner": .hostPort`) {
		m.t.Fatalf("another manager changed a part of the field: %v", err)
	}
	applied, err = m.applyAs("other", after, true, manifest(after, name, map[string]any{"port": "2"}))
	m.check(after, applied, err, "apply:2")
	m.checkOwners(applied, "other v1 port")
	applied, err = m.applyAs("owner", after, false, manifest(after, name, map[string]any{"host": "apply"}))
	m.check(after, applied, err, "apply:2")
	m.checkOwners(applied, "other v1 port", "owner v1 host")
	applied, err = m.applyAs("owner", before, true, manifest(before, name, fields(before, "apply:3")))
	m.check(before, applied, err, "apply:3")
	m.checkOwners(applied, "owner v1beta1 hostPort")
	m.want[name] = "apply:3"
}

// applyWithoutFields applies fields at one version and then, at the other version, an object without them. To find out
// what the manager removed, the API server converts objects that lack fields, and some that lack metadata.
func (m *migration) applyWithoutFields() {
	const name = "removed"
	labeled := manifest(before, name, fields(before, "remove:1"))
	labeled.SetLabels(map[string]string{"team": "a"})
	applied, err := m.applyAs("owner", before, false, labeled)
	m.check(before, applied, err, "remove:1")
	applied, err = m.applyAs("other", before, false, manifest(before, name, fields(before, "remove:1")))
	m.check(before, applied, err, "remove:1")
	m.checkOwners(applied, "other v1beta1 hostPort", "owner v1beta1 hostPort", "owner v1beta1 metadata.labels.team")

	// The other manager keeps the field.
	applied, err = m.applyAs("owner", after, false, manifest(after, name, nil))
	m.check(after, applied, err, "remove:1")
	if labels := applied.GetLabels(); len(labels) != 0 {
		m.t.Errorf("labels %v were not removed", labels)
	}
	m.checkOwners(applied, "other v1beta1 hostPort")

	applied, err = m.applyAs("other", after, false, manifest(after, name, nil))
	m.check(after, applied, err, "")
	m.checkOwners(applied)
	object, err := m.at(before).Get(m.t.Context(), name, metav1.GetOptions{})
	m.check(before, object, err, "")
	m.want[name] = ""
}

// unconvertible writes an object that has no form at v1. It can be read at its own version, and deleted.
func (m *migration) unconvertible() {
	const name, hostPort = "unconvertible", "nowhere"
	m.create(before, name, hostPort)
	_, err := m.at(after).Get(m.t.Context(), name, metav1.GetOptions{})
	const text = "conversion webhook for example.com/v1beta1, Kind=CronTab failed: "
	if err == nil || !strings.Contains(err.Error(), text) || !strings.Contains(err.Error(), hostPort) {
		m.t.Fatalf("reading an object that cannot be converted: %v", err)
	}
	object, err := m.at(before).Get(m.t.Context(), name, metav1.GetOptions{})
	m.check(before, object, err, hostPort)
	if err := m.at(before).Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
	// The watch cache of v1 could not convert the object either, and starts again after a while.
	eventually(m.t, "a list after the deletion", func() bool {
		list, err := m.at(after).List(m.t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == len(m.want)
	})
}

// switchStorage makes v1 the storage version. Objects stay stored at v1beta1 until they are written.
func (m *migration) switchStorage() {
	m.updateCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == after
		}
	})
	eventually(m.t, "the storage version", func() bool {
		m.rewrite(before, "local-crontab")
		return m.storedVersion("local-crontab") == after
	})
	m.checkStored(after, "local-crontab")
	m.checkStored(before, "remote-crontab")
	if got := m.crd().Status.StoredVersions; !slices.Equal(got, []string{before, after}) {
		m.t.Errorf("stored versions %v", got)
	}
	m.read()
	m.want["stored-at-v1"] = "new:1"
	m.create(before, "stored-at-v1", "new:1")
	m.checkStored(after, "stored-at-v1")
	m.watch()
	m.apply()
	m.applyWithoutFields()
}

// rewriteAll writes each object without a change, which stores it at v1, and trims the stored versions.
func (m *migration) rewriteAll() {
	for name := range m.want {
		m.rewrite(after, name)
	}
	m.checkStored(after, slices.Collect(maps.Keys(m.want))...)
	m.updateCRDStatus(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.StoredVersions = []string{after}
	})
	m.read()
}

// removeBefore stops serving v1beta1, and then removes it from the CRD. An object that has managed fields of a removed
// version cannot be applied, so they are removed first.
func (m *migration) removeBefore() {
	for name := range m.want {
		object, err := m.at(after).Get(m.t.Context(), name, metav1.GetOptions{})
		m.check(after, object, err, m.want[name])
		entries := slices.DeleteFunc(object.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
			return e.APIVersion == "example.com/"+before
		})
		if len(entries) == 0 {
			entries = []metav1.ManagedFieldsEntry{{}} // an API server ignores an empty list
		}
		object.SetManagedFields(entries)
		object, err = m.at(after).Update(m.t.Context(), object, metav1.UpdateOptions{})
		m.check(after, object, err, m.want[name])
	}
	m.updateCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Served = crd.Spec.Versions[i].Name == after
		}
	})
	eventually(m.t, "the end of v1beta1", func() bool {
		_, err := m.at(before).Get(m.t.Context(), "local-crontab", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	m.updateCRD(func(crd *apiextensionsv1.CustomResourceDefinition) {
		removed := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == before }
		crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, removed)
	})
	if got := m.crd().Status.StoredVersions; !slices.Equal(got, []string{after}) {
		m.t.Errorf("stored versions %v", got)
	}
	m.checkAll(after, m.list(after, metav1.ListOptions{}))
	applied, err := m.applyAs("owner", after, true, manifest(after, "local-crontab", fields(after, "localhost:4321")))
	m.check(after, applied, err, "localhost:4321")
}

// rewrite reads an object at a version and writes it without a change.
func (m *migration) rewrite(version, name string) {
	m.t.Helper()
	object, err := m.at(version).Get(m.t.Context(), name, metav1.GetOptions{})
	m.check(version, object, err, m.want[name])
	object, err = m.at(version).Update(m.t.Context(), object, metav1.UpdateOptions{})
	m.check(version, object, err, m.want[name])
}

func (m *migration) create(version, name, hostPort string) *unstructured.Unstructured {
	m.t.Helper()
	object := manifest(version, name, fields(version, hostPort))
	created, err := m.at(version).Create(m.t.Context(), object, metav1.CreateOptions{})
	m.check(version, created, err, hostPort)
	return created
}

func (m *migration) applyAs(
	manager, version string, force bool, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{FieldManager: manager, Force: force}
	return m.at(version).Apply(m.t.Context(), object.GetName(), object, options)
}

// list returns all objects by name. A limit applies to each page.
func (m *migration) list(version string, options metav1.ListOptions) map[string]*unstructured.Unstructured {
	m.t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for {
		page, err := m.at(version).List(m.t.Context(), options)
		if err != nil {
			m.t.Fatal(err)
		}
		for i := range page.Items {
			all[page.Items[i].GetName()] = &page.Items[i]
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all
		}
	}
}

func (m *migration) checkAll(version string, got map[string]*unstructured.Unstructured) {
	m.t.Helper()
	if len(got) != len(m.want) {
		m.t.Errorf("%d objects, want %d", len(got), len(m.want))
	}
	for name, object := range got {
		m.check(version, object, nil, m.want[name])
	}
}

// check fails the test if there is an error, or if an object has not exactly the fields of its version.
func (m *migration) check(version string, object *unstructured.Unstructured, err error, hostPort string) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	want, got := fields(version, hostPort), maps.Clone(object.Object)
	for _, other := range []string{"apiVersion", "kind", "metadata"} {
		delete(got, other)
	}
	if object.GetAPIVersion() != "example.com/"+version || object.GetKind() != "CronTab" || !maps.Equal(got, want) {
		m.t.Fatalf("%s at %s has %v, want %s with %v", object.GetName(), object.GetAPIVersion(), got, version, want)
	}
}

// checkOwners compares the managed fields of an object with texts of a manager, a version and a field.
func (m *migration) checkOwners(object *unstructured.Unstructured, want ...string) {
	m.t.Helper()
	var got []string
	for _, entry := range object.GetManagedFields() {
		var fields map[string]any
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			m.t.Fatal(err)
		}
		manager := entry.Manager + " " + strings.TrimPrefix(entry.APIVersion, "example.com/") + " "
		for _, field := range owned(fields, "") {
			got = append(got, manager+field)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Fatalf("%s is managed by %q, want %q", object.GetName(), got, want)
	}
}

// owned returns the paths of managed fields that have no fields below them.
func owned(fields map[string]any, path string) (all []string) {
	for field, below := range fields {
		p := strings.TrimPrefix(path+"."+strings.TrimPrefix(field, "f:"), ".")
		if b, _ := below.(map[string]any); len(b) > 0 {
			all = append(all, owned(b, p)...)
		} else {
			all = append(all, p)
		}
	}
	return all
}

func (m *migration) storedVersion(name string) string {
	m.t.Helper()
	resource := schema.GroupResource{Group: "example.com", Resource: "crontabs"}
	return strings.TrimPrefix(m.stored(m.t, resource, "default", name).GetAPIVersion(), "example.com/")
}

func (m *migration) checkStored(version string, names ...string) {
	m.t.Helper()
	for _, name := range names {
		if got := m.storedVersion(name); got != version {
			m.t.Errorf("%s is stored at %s, want %s", name, got, version)
		}
	}
}
