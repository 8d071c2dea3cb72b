package casefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
)

// expand returns the full CRD and objects of a shorthand.
func (w *shorthand) expand() (Case, error) {
	c := Case{Name: w.Name, Op: w.Op, Register: w.Register || w.Op == "registerCRD"}
	if w.Request != nil {
		c.Request = *w.Request
	}
	crd, err := json.Marshal(w.crd())
	if err != nil {
		return c, err
	}
	c.CRD = crd
	if c.OldCRD, err = w.oldCRD(); err != nil {
		return c, err
	}
	if w.Raw != "" {
		c.Objects = append(c.Objects, []byte(w.Raw))
	}
	if w.Object != nil {
		w.Objects = append(w.Objects, w.Object)
	}
	for _, v := range w.Values {
		w.Objects = append(w.Objects, member("v", v))
	}
	for _, o := range w.Objects {
		full, err := complete(o)
		if err != nil {
			return c, err
		}
		c.Objects = append(c.Objects, full)
	}
	if w.OldValue != nil {
		w.Old = member("v", w.OldValue)
	}
	if w.Old != nil {
		c.OldObject, err = complete(w.Old)
	}
	return c, err
}

// oldCRD returns the stored CRD that the case updates, or nil. It is a separate shorthand, or the CRD with other spec
// fields.
func (w *shorthand) oldCRD() ([]byte, error) {
	old := *w
	switch {
	case w.OldCRD != nil:
		old = *w.OldCRD
	case w.OldCRDSpec != nil:
		old.CRDSpec = maps.Clone(w.CRDSpec)
		if old.CRDSpec == nil {
			old.CRDSpec = map[string]any{}
		}
		maps.Copy(old.CRDSpec, w.OldCRDSpec)
	default:
		return nil, nil
	}
	return json.Marshal(old.crd())
}

func member(key string, value json.RawMessage) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{%q:%s}`, key, value))
}

// crd returns the manifest of stable.example.com/v1 CronTab, as described in README.md.
func (w *shorthand) crd() map[string]any {
	schema := any(w.Schema)
	if w.Schema == nil {
		properties := map[string]any{}
		if w.V != nil {
			properties["v"] = w.V
		}
		if w.Spec != nil {
			properties["spec"] = w.Spec
		}
		schema = map[string]any{"type": "object", "properties": properties}
	}
	version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": schema}}
	for k, v := range w.Ver {
		version[k] = v
	}
	spec := map[string]any{
		"group": "stable.example.com", "scope": "Namespaced", "versions": []any{version},
		"names": map[string]any{"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
	}
	for k, v := range w.CRDSpec {
		spec[k] = v
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "crontabs.stable.example.com"}, "spec": spec,
	}
}

// complete adds apiVersion, kind and metadata if the object lacks them. It keeps the rest of the text.
func complete(object json.RawMessage) ([]byte, error) {
	var present map[string]json.RawMessage
	if err := json.Unmarshal(object, &present); err != nil {
		return nil, err
	}
	var head bytes.Buffer
	head.WriteByte('{')
	for _, m := range []struct{ key, value string }{
		{"apiVersion", `"stable.example.com/v1"`},
		{"kind", `"CronTab"`},
		{"metadata", `{"name":"x","namespace":"default","resourceVersion":"1"}`},
	} {
		if _, ok := present[m.key]; !ok {
			if head.Len() > 1 {
				head.WriteByte(',')
			}
			fmt.Fprintf(&head, "%q:%s", m.key, m.value)
		}
	}
	body := bytes.TrimSpace(object)[1:]
	if head.Len() > 1 && len(present) > 0 {
		head.WriteByte(',')
	}
	head.Write(body)
	return head.Bytes(), nil
}
