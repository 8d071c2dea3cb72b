package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"github.com/crdeval/crdeval/engine/workspace"
)

// onlyMetadata is the Accept header that requests a list with metadata only.
const onlyMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

// maxListBytes bounds the CRDs of a cluster.
const maxListBytes = 512 << 20

// CRDs returns the CRDs of a cluster as a List, and the same digest as CRDVersions. A page of the list has page CRDs.
func CRDs(ctx context.Context, client *rest.RESTClient, page int) (list []byte, versions string, err error) {
	return listCRDs(ctx, client, "application/json", page)
}

// CRDVersions returns a digest of the versions of the CRDs of a cluster. It reads only metadata.
func CRDVersions(ctx context.Context, client *rest.RESTClient, page int) (string, error) {
	_, versions, err := listCRDs(ctx, client, onlyMetadata, page)
	return versions, err
}

// listCRDs returns the CRDs of a cluster as a List, and a digest of their versions. If the list expires before its last
// page is read, listCRDs starts again.
func listCRDs(
	ctx context.Context, client *rest.RESTClient, accept string, page int,
) (list []byte, version string, err error) {
	for range MaxAttempts {
		if list, version, err = listCRDPages(ctx, client, accept, page); !IsExpired(err) {
			return list, version, err
		}
	}
	return nil, "", err
}

func listCRDPages(
	ctx context.Context, client *rest.RESTClient, accept string, size int,
) (list []byte, version string, err error) {
	var all, versions bytes.Buffer
	all.WriteString(`{"apiVersion":"v1","kind":"List","items":[`)
	separator := ""
	for token := ""; ; {
		request := client.Get().AbsPath(CRDPath).SetHeader("Accept", accept).Param("limit", strconv.Itoa(size))
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
				fmt.Fprintf(&all, `{"apiVersion":%q,"kind":%q,`, apiextensionsv1.SchemeGroupVersion.String(), workspace.CRDKind)
				item = bytes.TrimLeft(item, "{ \n")
			}
			all.Write(item)
			separator = ","
		}
		if all.Len() > maxListBytes {
			return nil, "", fmt.Errorf("the CRDs have more than %d MiB", maxListBytes>>20)
		}
		if token = page.Metadata.Continue; token == "" {
			all.WriteString("\n]}\n")
			return all.Bytes(), fmt.Sprintf("%x", sha256.Sum256(versions.Bytes())), nil
		}
	}
}
