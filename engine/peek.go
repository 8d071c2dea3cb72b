package engine

import "github.com/crdeval/crdeval/internal/value"

// TypeMetaOf returns the apiVersion and kind at the root of a document, mostly without building a tree of JSON text; both are
// "" where absent or not strings. The error is an *Error for a document that cannot be read.
func TypeMetaOf(doc Document, l Limits) (apiVersion, kind string, err error) {
	defer recovered(&err)
	if doc.JSON != nil && doc.YAML == nil {
		if apiVersion, kind, ok := value.PeekTypeMeta(doc.JSON); ok {
			return string([]byte(apiVersion)), string([]byte(kind)), nil
		}
	}
	d := value.Acquire()
	var root uint32
	switch {
	case doc.Absent():
		err = &Error{Reason: ReasonInvalidArgument, Message: "there is no document"}
	case doc.JSON != nil && doc.YAML != nil:
		err = bothSet("document")
	case doc.YAML != nil:
		root, err = d.ParseYAML(doc.YAML, value.Request, l)
	default:
		root, err = d.ParseJSON(doc.JSON, l)
	}
	if err != nil {
		d.Release()
		if ReasonOf(err) == "" {
			err = unreadable("document", ReasonObjectUnreadable, err)
		}
		return "", "", err
	}
	text := func(key string) string {
		if c := d.Field(root, key); c != 0 && d.Nodes[c].Kind == value.String {
			return string([]byte(d.Str(c)))
		}
		return ""
	}
	apiVersion, kind = text("apiVersion"), text("kind")
	d.Release()
	return apiVersion, kind, nil
}

// TypeMetaHead is the beginning of a JSON document up to and including its apiVersion and kind, where these are its first two
// members, else nil. A document that begins with the head of another has the same TypeMetaOf, unless it names one of the two
// once more further down; a Verdict that allows it says that it does not, or to no effect.
func TypeMetaHead(doc Document) []byte {
	if doc.YAML != nil {
		return nil
	}
	return doc.JSON[:value.TypeMetaHead(doc.JSON)]
}
