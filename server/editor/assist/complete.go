package assist

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/crdeval/crdeval/engine/workspace"
	"github.com/crdeval/crdeval/server/editor/diagnosis"
)

// Completions are the texts that can replace a part of a text.
type Completions struct {
	// Begin and End are the part. It has the offset that is completed.
	Begin, End int
	Items      []Item // the most useful first
}

// ItemKind is the kind of a completion.
type ItemKind string

// The kinds of completions.
const (
	ItemField     ItemKind = "field" // of an object
	ItemEnumValue ItemKind = "enum"  // a value of an enum
	ItemValue     ItemKind = "value" // another value
	ItemType      ItemKind = "type"  // an apiVersion or a kind
)

// Item is a completion.
type Item struct {
	Kind ItemKind `json:"kind"`
	// Label is the field or the value, and Detail its type or another short note.
	Label  string `json:"label"`
	Detail string `json:"detail,omitempty"`
	// Text replaces the part. If it has several lines, they have their indentation.
	Text string `json:"text"`
	// Filter is the part of Text that the user types to choose the item.
	Filter string `json:"filter"`
	// Description is that of the schema. Details are facts about a field.
	Description string   `json:"description,omitempty"`
	Details     []Detail `json:"details,omitempty"`
	Deprecated  bool     `json:"deprecated,omitempty"`
}

// Complete returns the completions at an offset of a text. file is the workspace.Source.Path of the text.
func (a *Assistant) Complete(ctx context.Context, file string, text []byte, offset int) (c Completions) {
	root := documentAt(outline(text), offset).root
	at, ok := placeOf(text, root, offset)
	c.Begin, c.End = at.begin, at.end
	if ok {
		c.Items = a.items(ctx, file, text, root, &at)
	}
	return c
}

// items returns the completions at a place.
func (a *Assistant) items(ctx context.Context, file string, text []byte, root *node, at *place) []Item {
	n := at.container
	if n == nil {
		n = at.value
	}
	c := a.cursor(ctx, file, text, n, root)
	path := n.path()
	if len(path) < c.object {
		return nil
	}
	path = path[c.object:]
	var of *Schema
	if c.schema != nil || c.crd != nil {
		of, _ = c.schema.at(path)
	} else if len(path) == 0 {
		of = &Schema{props: &noFields, root: true}
	}
	switch {
	case at.container == nil && len(path) == 1 && (path[0] == "apiVersion" || path[0] == "kind"):
		return a.typeItems(text, c.root, path[0], at)
	case of == nil:
		return nil
	case at.container == nil && of.props.Type == "object" && at.value.kind == scalar && ownLine(text, at.begin):
		at.container, at.column = at.value, column(text, at.begin) // the first key of a mapping
		return fieldItems(of, at)
	case at.container == nil:
		return valueItems(of, at)
	}
	if of.props.Items != nil && of.props.Items.Schema != nil && at.container.kind == empty && !at.dash {
		at.dash = true // the first item of a list
		of = of.step("0")
	}
	return fieldItems(of, at)
}

// typeItems completes apiVersion or kind with those of the known CRDs.
func (a *Assistant) typeItems(text []byte, root *node, field string, at *place) (items []Item) {
	apiVersion, kind := root.child("apiVersion").scalarText(text), root.child("kind").scalarText(text)
	seen := map[string]bool{}
	all := a.CRDs.CRDs()
	if !a.ObjectsOnly {
		all = append(all, crdKind)
	}
	group := workspace.GroupOf(apiVersion)
	has := func(fits func(*workspace.CRD) bool) bool { return slices.ContainsFunc(all, fits) }
	byKind := field == "apiVersion" && has(func(c *workspace.CRD) bool { return c.ObjectKind == kind })
	byGroup := field == "kind" && has(func(c *workspace.CRD) bool { return c.Group == group })
	for _, c := range all {
		for _, v := range c.Versions {
			value, other := c.Group+"/"+v.Name, c.ObjectKind
			if field == "kind" {
				value, other = c.ObjectKind, c.Group+"/"+v.Name
			}
			if !v.Served || seen[value] || byKind && c.ObjectKind != kind || byGroup && c.Group != group {
				continue
			}
			seen[value] = true
			item := at.valueItem(strconv.Quote(value), ItemType)
			item.Label, item.Detail = value, other
			if !at.isJSON {
				item.Text = strings.Trim(item.Text, `"`)
			}
			items = append(items, item)
		}
	}
	return items
}

// valueItem returns the completion of a value as JSON.
func (p *place) valueItem(value string, kind ItemKind) Item {
	text := written(value, p.isJSON)
	item := Item{Kind: kind, Label: text, Text: text, Filter: text}
	if p.space {
		item.Text = " " + text
	}
	return item
}

// valueItems completes a value with those that the schema lists.
func valueItems(of *Schema, at *place) (items []Item) {
	for _, v := range of.values() {
		kind := ItemValue
		if len(of.props.Enum) > 0 {
			kind = ItemEnumValue
		}
		item := at.valueItem(v, kind)
		item.Description = of.props.Description
		if of.props.Default != nil && string(of.props.Default.Raw) == v {
			item.Detail = "default"
		}
		items = append(items, item)
	}
	return items
}

// fieldItems completes a key with the declared fields that the mapping lacks.
func fieldItems(of *Schema, at *place) (items []Item) {
	if len(of.props.Properties) == 0 && !of.root {
		if at.dash || at.container != nil && at.container.index >= 0 { // an item that is a scalar
			return valueItems(of, at)
		}
		return nil
	}
	for _, name := range of.names() {
		if other := at.container.child(name); other != nil && other.start != at.begin && at.container.kind != scalar {
			continue
		}
		p := of.step(name)
		text := name
		if at.isJSON || !diagnosis.IsPlain(name) {
			text = strconv.Quote(name)
		}
		item := Item{
			Kind: ItemField, Label: name, Detail: p.typeText(), Filter: text, Description: p.props.Description,
			Details: p.details(),
		}
		if p.required {
			item.Detail += ", required"
		}
		item.Deprecated = strings.HasPrefix(strings.ToLower(p.props.Description), "deprecated")
		if !at.hasColon {
			text += at.suffix(p)
		}
		if at.dash {
			text = "- " + text
		}
		item.Text = text
		items = append(items, item)
	}
	return items
}

// suffix returns what follows a new key: the colon, and the begin of its value.
func (p *place) suffix(of *Schema) string {
	column := p.column
	if p.dash {
		column += 2
	}
	indent := "\n" + strings.Repeat(" ", column+2)
	flow := p.isJSON || p.container.flow
	switch {
	case flow:
		return ": "
	case of.props.Type == "array" && of.props.Items != nil:
		return ":" + indent + "- "
	case of.props.Type == "object" && (len(of.props.Properties) > 0 || of.props.AdditionalProperties != nil):
		return ":" + indent
	}
	return ": "
}
