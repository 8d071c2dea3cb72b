package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/server/manifests"
)

const (
	// pageSize is the number of objects of a page.
	pageSize = 500
	// maxAttempts bounds the attempts to write an object that other clients change, and to continue a list whose token
	// expired.
	maxAttempts = 5
	// requestTimeout bounds a request to the API server, unless the kubeconfig has another timeout.
	requestTimeout = time.Minute
)

// cluster is an API server with the CRD of a migration. Objects are sent as they were received, byte for byte.
type cluster struct {
	client *rest.RESTClient
	host   string
	name   string // of the CRD
	crd    clusterCRD
	text   []byte // the CRD as JSON
}

// clusterCRD has the fields of a CRD that a migration needs.
type clusterCRD struct {
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

// storage returns the storage version, and the version at which objects are read: the storage version if it is served.
func (c *clusterCRD) storage() (storage, served string) {
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

// newCluster connects to the cluster of a kubeconfig and reads the CRD.
func (c *migrateCommand) newCluster(ctx context.Context) (*cluster, error) {
	client, host, err := connectCluster(c.Kubeconfig, c.Context)
	if err != nil {
		return nil, err
	}
	cl := &cluster{client: client, host: host, name: c.CRD}
	return cl, cl.readCRD(ctx)
}

// connectCluster returns a client for the cluster of a context, and its address. An empty kubeconfig or context is that
// of kubectl.
func connectCluster(kubeconfig, context string) (client *rest.RESTClient, host string, err error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	known, err := rules.Load()
	if err != nil {
		return nil, "", err
	}
	if context != "" && known.Contexts[context] == nil {
		return nil, "", fmt.Errorf("the kubeconfig has no context %q: it has %s", context,
			cmp.Or(strings.Join(slices.Sorted(maps.Keys(known.Contexts)), ", "), "none (is KUBECONFIG set?)"))
	}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: context}).ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errors.New("no kubeconfig with a current context was found: set KUBECONFIG, or name a context")
	case err != nil:
		return nil, "", err
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // for Status
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.QPS, config.WarningHandler, config.UserAgent = -1, rest.NoWarnings{}, "crdeval/"+version
	if config.Timeout == 0 {
		config.Timeout = requestTimeout
	}
	h, err := rest.HTTPClientFor(config)
	if err == nil {
		client, err = rest.UnversionedRESTClientForConfigAndClient(config, h)
	}
	return client, config.Host, err
}

// crdPath is the path of CRDs.
const crdPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// send sends a request and returns the body of the response. The error has the Status of the API server.
func send(ctx context.Context, request *rest.Request) ([]byte, error) {
	result := request.Do(ctx)
	if err := result.Error(); err != nil { // Raw does not decode the Status
		return nil, err
	}
	return result.Raw()
}

// put sends an object as JSON.
func (cl *cluster) put(ctx context.Context, object []byte, at ...string) error {
	request := cl.client.Put().AbsPath(at...).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(object)
	return request.Do(ctx).Error()
}

func (cl *cluster) readCRD(ctx context.Context) (err error) {
	if cl.text, err = send(ctx, cl.client.Get().AbsPath(crdPath, cl.name)); err != nil {
		return fmt.Errorf("%s: read the CRD %s: %w", cl.host, cl.name, err)
	}
	cl.crd = clusterCRD{}
	if err := json.Unmarshal(cl.text, &cl.crd); err != nil {
		return fmt.Errorf("%s: the CRD %s cannot be read: %w", cl.host, cl.name, err)
	}
	return nil
}

// clusterObject is an object of a cluster.
type clusterObject struct {
	text []byte
	engine.Identity
}

// key identifies the object.
func (o *clusterObject) key() string {
	return strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")
}

// path returns the path of the resource at a version, or of an object.
func (cl *cluster) path(version string, o *clusterObject) string {
	segments := []string{"/apis", cl.crd.Spec.Group, version}
	if o != nil && o.Namespace != "" {
		segments = append(segments, "namespaces", o.Namespace)
	}
	if segments = append(segments, cl.crd.Spec.Names.Plural); o != nil {
		segments = append(segments, o.Name)
	}
	return path.Join(segments...)
}

// page is a part of the list of all objects.
type page struct {
	objects   []*clusterObject
	next      string // the token of the next page; "" on the last one
	remaining int    // objects after this page, 0 if unknown
}

// list reads a page of objects at a version.
func (cl *cluster) list(ctx context.Context, version, token string) (*page, error) {
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
	p := &page{next: list.Metadata.Continue, remaining: list.Metadata.Remaining}
	for _, item := range list.Items {
		o := &clusterObject{text: item}
		if o.Identity, err = engine.IdentityOf(engine.JSON(item), engine.Limits{}); err != nil || o.Name == "" {
			return nil, errors.New("a list has an object without a name")
		}
		p.objects = append(p.objects, o)
	}
	return p, nil
}

// write updates an object without a change. After a conflict, it reads the object and tries again. deleted is true if
// the object no longer exists. If ctx is cancelled, the request is still completed.
func (cl *cluster) write(ctx context.Context, version string, o *clusterObject) (deleted bool, err error) {
	ctx = context.WithoutCancel(ctx)
	at := cl.path(version, o)
	for attempt, text := 1, o.text; ; attempt++ {
		err = cl.put(ctx, text, at)
		if !apierrors.IsConflict(err) || attempt == maxAttempts {
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

// isOutage reports whether an error is about the API server, and not about the object of the request.
func isOutage(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsUnauthorized(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// migrateCluster migrates the objects of a CRD in a cluster, or prints them at the storage version.
func (m *migration) migrateCluster(ctx context.Context, rules []*source) error {
	cl, err := m.newCluster(ctx)
	if err != nil {
		return err
	}
	to, served := cl.crd.storage()
	if served == "" {
		return fmt.Errorf("%s: no version of %s is served, so its objects cannot be read", cl.host, m.CRD)
	}
	output := m.Out
	if m.Write {
		output = "the cluster"
	}
	st, err := loadState(m.State, migrationSubject{
		Source: cl.host, CRD: m.CRD, UID: cl.crd.Metadata.UID, Version: to, Output: output,
	})
	if err != nil {
		return err
	}
	if !m.Write {
		crd := newSource(manifests.New(engine.JSON(cl.text)), location{File: "the CRD " + m.CRD + " of the cluster"})
		rules = slices.DeleteFunc(rules, func(s *source) bool { return s.CRD != m.CRD })
		closeService, err := m.connect(ctx, []*source{crd}, rules)
		if err != nil {
			return err
		}
		defer closeService()
		if err := st.checkRevisions(m.kinds); err != nil {
			return err
		}
	}
	m.state = st
	if err := m.readCluster(ctx, cl, served); err != nil {
		return errors.Join(err, m.state.save())
	}
	stored := strings.Join(cl.crd.Status.StoredVersions, ", ")
	switch {
	case !m.Write:
		fmt.Fprintf(m.env.stderr, "nothing was written: use --write to migrate; then status.storedVersions of %s, now %s, becomes %s\n",
			m.CRD, stored, to)
	case len(m.state.Failed) > 0:
		fmt.Fprintf(m.env.stderr, "status.storedVersions of %s stays %s, because not all objects are migrated\n", m.CRD, stored)
	default:
		if err := cl.trim(ctx, m.state.Subject); err != nil {
			return err
		}
		fmt.Fprintf(m.env.stderr, "status.storedVersions of %s: %s\n", m.CRD, to)
	}
	m.state.Finished = true
	return m.state.save()
}

// readCluster migrates page by page.
func (m *migration) readCluster(ctx context.Context, cl *cluster, version string) error {
	st := m.state
	for expired := 0; !st.Read; {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		p, err := cl.list(ctx, version, st.Continue)
		switch {
		case ctx.Err() != nil:
			return errors.New("interrupted")
		case isExpired(err) && expired < maxAttempts:
			if expired++; !m.renew(err) {
				return fmt.Errorf("%s: %w; remove the file of --state to start again", cl.host, err)
			}
			continue
		case err != nil:
			return fmt.Errorf("%s: list the objects of %s: %w", cl.host, m.CRD, err)
		}
		m.all = m.done() + len(p.objects) + p.remaining
		if err := m.migratePage(ctx, cl, version, p); err != nil {
			return err
		}
		st.Continue, st.Done, st.Read = p.next, nil, p.next == ""
		if err := st.save(); err != nil {
			return err
		}
	}
	return nil
}

// done returns the number of objects of earlier pages.
func (m *migration) done() int { return m.state.count() - len(m.state.Done) }

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// renew sets the token of the page after a token expired. API servers send a token to continue the list with the
// current objects. Without such a token, the list starts again. Writing an object again changes nothing, but printing
// it does.
func (m *migration) renew(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Continue != "" {
		m.state.Continue = status.Status().Continue
		return true
	}
	if !m.Write && m.Out == "" && m.state.count() > 0 {
		return false
	}
	fresh := &migrateState{Format: stateFormat, Subject: m.state.Subject, path: m.state.path}
	*m.state = *fresh
	return true
}

// migratePage writes or prints the objects of a page.
func (m *migration) migratePage(ctx context.Context, cl *cluster, version string, p *page) error {
	if !m.Write {
		sources := make([]*source, len(p.objects))
		for i, o := range p.objects {
			sources[i] = newSource(manifests.New(engine.JSON(o.text)), location{File: cl.host})
		}
		defer m.progress()
		return m.convertAndWrite(ctx, sources)
	}
	done := map[string]bool{}
	for _, key := range m.state.Done {
		done[key] = true
	}
	for _, o := range p.objects {
		if done[o.key()] {
			continue
		}
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		switch deleted, err := cl.write(ctx, version, o); {
		case err != nil && isOutage(err):
			return fmt.Errorf("%s: write %s: %w", cl.host, o.key(), err)
		case err != nil:
			m.state.fail(o.Kind+" "+o.key(), err.Error())
		case deleted:
			m.state.Deleted++
		default:
			m.state.Migrated++
		}
		m.state.Done = append(m.state.Done, o.key())
		m.progress()
	}
	return nil
}

// trim sets status.storedVersions of the CRD to the storage version. It fails if the CRD was replaced, or its storage
// version changed, during the migration.
func (cl *cluster) trim(ctx context.Context, of migrationSubject) error {
	for attempt := 1; ; attempt++ {
		if err := cl.readCRD(ctx); err != nil {
			return err
		}
		to, _ := cl.crd.storage()
		switch {
		case cl.crd.Metadata.UID != of.UID || to != of.Version:
			return fmt.Errorf("%s: the CRD %s changed during the migration: run it again", cl.host, cl.name)
		case slices.Equal(cl.crd.Status.StoredVersions, []string{to}):
			return nil
		}
		text, err := withStoredVersion(cl.text, to)
		if err == nil {
			err = cl.put(ctx, text, crdPath, cl.name, "status")
		}
		if err == nil || !apierrors.IsConflict(err) || attempt == maxAttempts {
			if err != nil {
				err = fmt.Errorf("%s: update the status of the CRD %s: %w", cl.host, cl.name, err)
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
