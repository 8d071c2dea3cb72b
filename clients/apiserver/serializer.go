package apiserver

import (
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// bodySerializer is the serializer of a media type. DecoderToVersion makes a decoder of bodies of it. It prints objects
// and lists in compact JSON itself, with the bytes of upstream's serializer and in less time.
type bodySerializer struct {
	runtime.Serializer
	json, strict, pretty bool
}

// Encode implements runtime.Encoder.
func (s bodySerializer) Encode(obj runtime.Object, w io.Writer) error {
	if !s.json || s.pretty {
		return s.Serializer.Encode(obj, w)
	}
	if co, ok := obj.(runtime.CacheableObject); ok {
		return co.CacheEncode(s.Identifier(), s.encode, w)
	}
	return s.encode(obj, w)
}

func (s bodySerializer) encode(obj runtime.Object, w io.Writer) error {
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		return write(w, func(text []byte) ([]byte, error) { return appendStored(text, o) })
	case *unstructured.UnstructuredList:
		return write(w, func(text []byte) ([]byte, error) { return appendList(text, o, w) })
	}
	return s.Serializer.Encode(obj, w)
}

// maxBuffer bounds the buffers that are kept for the next object in bytes. Longer lists are written in parts.
const maxBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// write writes a text and a line feed.
func write(w io.Writer, print func([]byte) ([]byte, error)) error {
	buffer := buffers.Get().(*[]byte)
	text, err := print((*buffer)[:0])
	if err == nil {
		text = append(text, '\n')
		_, err = w.Write(text)
	}
	if cap(text) <= 2*maxBuffer && cap(text) > 0 {
		*buffer = text
		buffers.Put(buffer)
	}
	return err
}

// appendList appends a list. It writes the text to w whenever it exceeds maxBuffer.
func appendList(text []byte, list *unstructured.UnstructuredList, w io.Writer) ([]byte, error) {
	p := &printer{}
	keys := []string{"items"}
	for key := range list.Object {
		if key != "items" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	var err error
	for i, key := range keys {
		text = append(text, "{,"[min(i, 1)])
		if text, err = p.append(text, key); err != nil {
			return nil, err
		}
		if text = append(text, ':'); key != "items" {
			if text, err = p.append(text, list.Object[key]); err != nil {
				return nil, err
			}
			continue
		}
		text = append(text, '[')
		for i := range list.Items {
			if i > 0 {
				text = append(text, ',')
			}
			if text, err = p.append(text, list.Items[i].Object); err != nil {
				return nil, err
			}
			if len(text) >= maxBuffer {
				if _, err := w.Write(text); err != nil {
					return nil, err
				}
				text = text[:0]
			}
		}
		text = append(text, ']')
	}
	return append(text, '}'), nil
}
