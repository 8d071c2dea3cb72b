package assist

import (
	"context"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
)

// cursor is what an offset of a text refers to.
type cursor struct {
	root    *node // of the object: of the document, or of an item of a list
	object  int   // number of steps of the path to root
	crd     *workspace.CRD
	version string
	schema  *Schema // of root; nil: unknown
}

// cursor returns what a node refers to. In a List, the object is an item. file is the workspace.Source.Path of the
// text.
func (a *Assistant) cursor(ctx context.Context, file string, text []byte, n, root *node) cursor {
	c := cursor{root: root}
	if items := root.child("items"); items != nil && strings.HasSuffix(root.child("kind").scalarText(text), "List") {
		path := n.path()
		if len(path) > 1 && path[0] == "items" {
			if item := items.child(path[1]); item != nil {
				c.root, c.object = item, 2
			}
		}
	}
	apiVersion := c.root.child("apiVersion").scalarText(text)
	kind := c.root.child("kind").scalarText(text)
	if list := a.CRDs.Choose(apiVersion, kind, file); len(list) > 0 {
		c.crd = list[0] // of several, the first
	}
	c.version = workspace.VersionOf(apiVersion)
	c.schema = a.Schema(ctx, c.crd, apiVersion, kind)
	return c
}

// at returns the innermost node that contains an offset.
func (n *node) at(offset int) *node {
	for {
		i := len(n.children) - 1
		for ; i >= 0; i-- {
			if c := n.children[i]; c.start <= offset && offset <= max(c.end, c.keyEnd) {
				break
			}
		}
		if i < 0 {
			return n
		}
		n = n.children[i]
	}
}

// documentAt returns the document of an offset.
func documentAt(docs []section, offset int) *section {
	for i := range docs {
		if offset >= docs[i].begin && (offset < docs[i].end || i == len(docs)-1) {
			return &docs[i]
		}
	}
	return &docs[len(docs)-1]
}
