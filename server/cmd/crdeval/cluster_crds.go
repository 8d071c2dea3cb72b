package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/server/manifests"
)

// clusterTimeout bounds the time of all requests for the CRDs of a cluster. crdPageSize is the number of CRDs in a
// page. It is small because a CRD can have a megabyte.
var clusterTimeout, crdPageSize = time.Minute, 50

// onlyMetadata is the Accept header that requests a list with metadata only.
const onlyMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// readCluster returns the CRDs of the cluster of a context as a List. If the cached CRDs are current, it reads only
// metadata.
func (d *downloader) readCluster(ctx context.Context, folder, of string) ([]byte, error) {
	client, host, err := connectCluster("", of)
	if err != nil {
		return nil, err
	}
	timed, cancel := context.WithTimeout(ctx, clusterTimeout)
	defer cancel()
	content, err := d.cached(folder, "kube "+host, func(etag string) ([]byte, string, error) {
		if etag != "" {
			_, current, err := listCRDs(timed, client, onlyMetadata)
			if err != nil || current == etag {
				return nil, current, err
			}
		}
		return listCRDs(timed, client, "application/json")
	})
	var timeout net.Error
	switch {
	case err == nil:
		return content, nil
	case ctx.Err() != nil:
		return nil, errors.New("interrupted")
	case timed.Err() != nil || errors.As(err, &timeout) && timeout.Timeout():
		err = fmt.Errorf("no complete response within %s", clusterTimeout)
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w: the user needs the verb list for customresourcedefinitions", err)
	}
	return nil, fmt.Errorf("the CRDs of %s cannot be read: %w", host, err)
}

// listCRDs returns the CRDs of a cluster as a List, and a digest of their versions. If the list expires before its last
// page is read, listCRDs starts again.
func listCRDs(ctx context.Context, client *rest.RESTClient, accept string) (list []byte, version string, err error) {
	for range maxAttempts {
		if list, version, err = listCRDPages(ctx, client, accept); !isExpired(err) {
			return list, version, err
		}
	}
	return nil, "", err
}

func listCRDPages(
	ctx context.Context, client *rest.RESTClient, accept string) (list []byte, version string, err error) {
	var all, versions bytes.Buffer
	all.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	separator := ""
	for token := ""; ; {
		request := client.Get().AbsPath(crdPath).SetHeader("Accept", accept).Param("limit", strconv.Itoa(crdPageSize))
		if token != "" {
			request.Param("continue", token)
		}
		text, err := send(ctx, request)
		if err != nil {
			return nil, "", err
		}
		var page struct {
			Metadata struct{ Continue string }
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(text, &page); err != nil {
			return nil, "", fmt.Errorf("the list of CRDs: %w", err)
		}
		for _, item := range page.Items {
			var crd struct {
				Kind     string
				Metadata struct{ UID, ResourceVersion string }
			}
			if err := json.Unmarshal(item, &crd); err != nil {
				return nil, "", fmt.Errorf("the list of CRDs: %w", err)
			}
			fmt.Fprintln(&versions, crd.Metadata.UID, crd.Metadata.ResourceVersion)
			all.WriteString(separator + "\n")
			if crd.Kind == "" { // items of a list of a built-in kind do not have it
				fmt.Fprintf(&all, `{"apiVersion":%q,"kind":%q,`, crdGroup+"/v1", manifests.CRDKind)
				item = bytes.TrimLeft(item, "{ \n")
			}
			all.Write(item)
			separator = ","
		}
		if all.Len() > maxFileBytes {
			return nil, "", fmt.Errorf("the CRDs have more than %d MiB", maxFileBytes>>20)
		}
		if token = page.Metadata.Continue; token == "" {
			all.WriteString("\n]}\n")
			return all.Bytes(), hash(versions.Bytes()), nil
		}
	}
}
