package apiserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/crdeval/crdeval/engine/publish"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers"
)

// asksForTable reports whether a request prefers a meta.k8s.io/v1 Table in JSON with the metadata of the objects, as
// kubectl get does. Other tables are decoded, so that upstream's handler encodes them.
func asksForTable(r *http.Request) bool {
	first, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
	return first == "application/json;as=Table;v=v1;g=meta.k8s.io" && !r.URL.Query().Has("includeObject")
}

// listTable returns upstream's handler of lists. The lister prints the table, which is written unchanged.
func (h *handler) listTable(store objectStore, scope *handlers.RequestScope) http.Handler {
	printing := *scope
	printing.Serializer = tableSerializer{scope.Serializer.(serializer)} // of newScope, as the convertor
	list := handlers.ListResource(tableLister{store, scope.TableConvertor.(tableConvertor)}, store, &printing, false, h.watchPeriod)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		r.Header.Set("Accept", "application/json")
		list(w, r)
	})
}

// printedList is a list with its table.
type printedList struct {
	*unstructured.UnstructuredList
	table []byte
}

// DeepCopyObject implements runtime.Object.
func (l *printedList) DeepCopyObject() runtime.Object {
	return &printedList{l.DeepCopy(), l.table}
}

// tableLister prints the lists of a store.
type tableLister struct {
	objectStore
	convertor tableConvertor
}

// List implements rest.Lister.
func (l tableLister) List(ctx context.Context, o *internalversion.ListOptions) (runtime.Object, error) {
	list, err := l.objectStore.List(ctx, o)
	objects, ok := list.(*unstructured.UnstructuredList)
	if err != nil || !ok {
		return list, err
	}
	options := publish.TableOptions{}
	table, err := l.convertor.print(ctx, itemsOf(objects, &options), options)
	if err != nil {
		return nil, err
	}
	return &printedList{objects, table}, nil
}

// tableSerializer writes the table of a printed list.
type tableSerializer struct{ serializer }

// EncoderForVersion implements runtime.NegotiatedSerializer.
func (s tableSerializer) EncoderForVersion(e runtime.Encoder, version runtime.GroupVersioner) runtime.Encoder {
	body, _ := e.(bodySerializer)
	return tableEncoder{s.serializer.EncoderForVersion(e, version), body.pretty}
}

type tableEncoder struct {
	runtime.Encoder // of a Status
	pretty          bool
}

// Encode implements runtime.Encoder.
func (e tableEncoder) Encode(obj runtime.Object, w io.Writer) error {
	list, ok := obj.(*printedList)
	if !ok {
		return e.Encoder.Encode(obj, w)
	}
	text := list.table
	if e.pretty {
		var indented bytes.Buffer
		if err := json.Indent(&indented, text, "", "  "); err != nil {
			return err
		}
		text = indented.Bytes()
	} else {
		text = append(text, '\n') // usually into spare capacity
	}
	_, err := w.Write(text)
	return err
}
