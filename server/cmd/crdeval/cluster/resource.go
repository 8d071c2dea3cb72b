package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/workspace"
)

const (
	// pageSize is the number of objects of a page.
	pageSize = 500
	// MaxAttempts bounds the attempts to write an object that other clients change, and to read a list that expires.
	MaxAttempts = 5
)

// Resource is a custom resource in a cluster: an API server and a CRD. Objects are sent as they were received, byte for
// byte.
type Resource struct {
	client *rest.RESTClient
	Host   string // the address of the API server
	name   string // of the CRD
	CRD    crdFields
	Text   []byte // the CRD as JSON
}

// crdFields has the fields of a CRD that a migration needs.
type crdFields struct {
	Metadata struct {
		UID string `json:"uid"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural string `json:"plural"`
		} `json:"names"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		StoredVersions []string `json:"storedVersions"`
	} `json:"status"`
}

// StorageVersions returns the storage version, and the version at which objects are read: the storage version if it is
// served.
func (c *crdFields) StorageVersions() (storage, served string) {
	for _, v := range c.Spec.Versions {
		if v.Storage {
			storage = v.Name
		}
		if v.Served && (v.Storage || served == "") {
			served = v.Name
		}
	}
	return storage, served
}

// Open connects to the cluster of a context and reads a CRD.
func Open(ctx context.Context, kubeconfig, of, crd, userAgent string) (*Resource, error) {
	client, host, err := Connect(kubeconfig, of, userAgent)
	if err != nil {
		return nil, err
	}
	cl := &Resource{client: client, Host: host, name: crd}
	return cl, cl.readCRD(ctx)
}

// put sends an object as JSON.
func (cl *Resource) put(ctx context.Context, object []byte, at ...string) error {
	request := cl.client.Put().AbsPath(at...).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(object)
	return request.Do(ctx).Error()
}

func (cl *Resource) readCRD(ctx context.Context) (err error) {
	if cl.Text, err = send(ctx, cl.client.Get().AbsPath(CRDPath, cl.name)); err != nil {
		return fmt.Errorf("%s: read the CRD %s: %w", cl.Host, cl.name, err)
	}
	cl.CRD = crdFields{}
	if err := json.Unmarshal(cl.Text, &cl.CRD); err != nil {
		return fmt.Errorf("%s: the CRD %s cannot be read: %w", cl.Host, cl.name, err)
	}
	return nil
}

// Object is an object of a cluster.
type Object struct {
	Text []byte
	workspace.Identity
}

// Key identifies the object.
func (o *Object) Key() string {
	return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// path returns the path of the resource at a version, or of an object.
func (cl *Resource) path(version string, o *Object) string {
	segments := []string{"/apis", cl.CRD.Spec.Group, version}
	if o != nil && o.Namespace != "" {
		segments = append(segments, "namespaces", o.Namespace)
	}
	if segments = append(segments, cl.CRD.Spec.Names.Plural); o != nil {
		segments = append(segments, o.Name)
	}
	return path.Join(segments...)
}

// Page is a part of the list of all objects.
type Page struct {
	Objects   []*Object
	Next      string // the token of the next page; "" on the last one
	Remaining int    // objects after this page, 0 if unknown
}

// List reads a page of objects at a version.
func (cl *Resource) List(ctx context.Context, version, token string) (*Page, error) {
	request := cl.client.Get().AbsPath(cl.path(version, nil)).Param("limit", strconv.Itoa(pageSize))
	if token != "" {
		request.Param("continue", token)
	}
	text, err := send(ctx, request)
	if err != nil {
		return nil, err
	}
	var list struct {
		Metadata struct {
			Continue  string `json:"continue"`
			Remaining int    `json:"remainingItemCount"`
		} `json:"metadata"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("a list cannot be read: %w", err)
	}
	p := &Page{Next: list.Metadata.Continue, Remaining: list.Metadata.Remaining}
	for _, item := range list.Items {
		m := workspace.New(engine.JSON(item))
		if m.Name == "" {
			return nil, errors.New("a list has an object without a name")
		}
		p.Objects = append(p.Objects, &Object{item, m.Identity})
	}
	return p, nil
}

// Write updates an object without a change. After a conflict, it reads the object and tries again. deleted is true if
// the object no longer exists. If ctx is cancelled, the request is still completed.
func (cl *Resource) Write(ctx context.Context, version string, o *Object) (deleted bool, err error) {
	ctx = context.WithoutCancel(ctx)
	at := cl.path(version, o)
	for attempt, text := 1, o.Text; ; attempt++ {
		err = cl.put(ctx, text, at)
		if !apierrors.IsConflict(err) || attempt == MaxAttempts {
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		}
		if text, err = send(ctx, cl.client.Get().AbsPath(at)); err != nil {
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		}
	}
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// IsOutage reports whether an error is about the API server, and not about the object of the request.
func IsOutage(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// TrimStoredVersions sets status.storedVersions of the CRD to the storage version. It fails if the CRD no longer has
// the uid, or the version is no longer its storage version.
func (cl *Resource) TrimStoredVersions(ctx context.Context, uid, version string) error {
	for attempt := 1; ; attempt++ {
		if err := cl.readCRD(ctx); err != nil {
			return err
		}
		to, _ := cl.CRD.StorageVersions()
		switch {
		case cl.CRD.Metadata.UID != uid || to != version:
			return fmt.Errorf("%s: the CRD %s changed during the migration: run it again", cl.Host, cl.name)
		case slices.Equal(cl.CRD.Status.StoredVersions, []string{to}):
			return nil
		}
		text, err := withStoredVersion(cl.Text, to)
		if err == nil {
			err = cl.put(ctx, text, CRDPath, cl.name, "status")
		}
		if err == nil || !apierrors.IsConflict(err) || attempt == MaxAttempts {
			if err != nil {
				err = fmt.Errorf("%s: update the status of the CRD %s: %w", cl.Host, cl.name, err)
			}
			return err
		}
	}
}

// withStoredVersion returns a CRD with other stored versions.
func withStoredVersion(crd []byte, version string) ([]byte, error) {
	var object, status map[string]json.RawMessage
	err := json.Unmarshal(crd, &object)
	if err == nil {
		err = json.Unmarshal(object["status"], &status)
	}
	if err != nil {
		return nil, err
	}
	if status["storedVersions"], err = json.Marshal([]string{version}); err != nil {
		return nil, err
	}
	if object["status"], err = json.Marshal(status); err != nil {
		return nil, err
	}
	return json.Marshal(object)
}
