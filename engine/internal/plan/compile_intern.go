package plan

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"unsafe"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/crdeval/crdeval/engine/internal/schema"
)

// intern returns the plan's node that is equal to n, or completes n with memory of its own. over is the node that fills
// the slots.
func (c *compiler) intern(s *apiextensionsv1.JSONSchemaProps, n *Node, v *Validation, over *Node) *Node {
	var slots []uint16
	logical := n.Flags&Logical != 0
	if logical && len(n.Names) > 0 {
		slots = make([]uint16, len(n.Names))
		for i, name := range n.Names {
			slots[i] = over.slot(name)
		}
	}
	if cap(c.keys)-len(c.keys) < 1<<9 { // enough for most keys
		c.keys = make([]byte, 0, 2*cap(c.keys)+1<<11)
	}
	before := c.keys
	c.keys = c.appendKey(c.keys, s, n, v, slots, over)
	key := unsafe.String(&c.keys[len(before)], len(c.keys)-len(before)) // its bytes do not change if it becomes a key
	if m := c.seen[key]; m != nil {
		c.keys = before
		return m
	}

	m := &Node{Flags: n.Flags, Type: c.text(n.Type), Additional: n.Additional, Items: n.Items, Valid: v, Rules: n.Rules,
		details: &noDetails}
	extra := details{Slots: slots}
	c.size += nodeSize + int64(cap(slots))*2
	if len(n.Names) > 0 {
		m.Names = make([]string, len(n.Names))
		for i, name := range n.Names {
			m.Names[i] = c.text(name)
		}
		m.Props = slices.Clone(n.Props)
		c.size += int64(len(n.Names)) * (16 + 8)
		if !logical {
			m.guess, c.guess = c.guess, c.guess+uint16(len(n.Names)+1)
			for i, p := range m.Props {
				if p.Default != nil {
					extra.defaulted = append(extra.defaulted, uint16(i))
				}
			}
			extra.defaulted = slices.Clip(extra.defaulted)
			c.size += int64(cap(extra.defaulted)) * 2
		}
		if len(m.Names) >= int(NoSlot) {
			c.fail(tooManyProperties(len(m.Names)))
		}
	}
	if len(s.XListMapKeys) > 0 {
		extra.ListKeys = make([]ListKey, len(s.XListMapKeys))
		for i, k := range s.XListMapKeys {
			extra.ListKeys[i] = ListKey{Name: c.text(k), Slot: m.Items.slot(k)}
		}
		c.size += int64(len(extra.ListKeys)) * int64(unsafe.Sizeof(ListKey{}))
	}
	if extra.Slots != nil || extra.ListKeys != nil || extra.defaulted != nil {
		m.details = &details{extra.Slots, extra.ListKeys, extra.defaulted}
		c.size += detailsSize
	}
	c.fill(m, s, over)
	if schema.HasValue(s.Default) && !logical {
		m.Default = &Default{raw: s.Default.Raw}
		c.pending = append(c.pending, m)
	}
	m.kinds, m.maybe = m.kindSets()
	c.seen[key] = m
	return m
}

// slot returns the slot of a name on the node that fills the slots.
func (n *Node) slot(name string) uint16 {
	if n != nil {
		if i, ok := n.find(name); ok {
			return uint16(i)
		}
	}
	return NoSlot
}

// appendKey appends all that distinguishes nodes.
func (c *compiler) appendKey(b []byte, s *apiextensionsv1.JSONSchemaProps, n *Node, v *Validation, slots []uint16,
	over *Node) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(n.Flags))
	b = appendText(b, n.Type)
	b = binary.AppendUvarint(b, uint64(len(n.Names)))
	for i, name := range n.Names {
		b = appendText(b, name)
		b = appendNode(b, n.Props[i])
		if slots != nil {
			b = binary.LittleEndian.AppendUint16(b, slots[i])
		}
	}
	b = appendNode(b, n.Additional)
	b = appendNode(b, n.Items)
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(n.Rules)))) // sets are interned
	b = binary.AppendUvarint(b, uint64(len(s.XListMapKeys)))
	for _, k := range s.XListMapKeys {
		b = appendText(b, k)
	}
	if schema.HasValue(s.Default) && n.Flags&Logical == 0 {
		b = appendText(append(b, 1), s.Default.Raw)
	}
	if v == nil {
		return append(b, 0)
	}
	b = append(b, 2)
	b = appendFloat(b, v.Minimum)
	b = appendFloat(b, v.Maximum)
	b = appendFloat(b, v.MultipleOf)
	for _, i := range [...]*int64{v.MinLength, v.MaxLength, v.MinItems, v.MaxItems, v.MinProperties, v.MaxProperties} {
		b = appendInt(b, i)
	}
	for _, flag := range [...]bool{v.ExclusiveMinimum, v.ExclusiveMaximum, v.UniqueItems} {
		b = strconv.AppendBool(b, flag)
	}
	b = appendText(b, s.Pattern)
	b = appendText(b, v.Format)
	b = binary.AppendUvarint(b, uint64(len(s.Enum)))
	for i := range s.Enum {
		b = appendText(b, s.Enum[i].Raw)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Required)))
	for _, r := range s.Required {
		b = appendText(b, r)
		if n.Flags&Logical != 0 {
			b = binary.LittleEndian.AppendUint16(b, over.slot(r))
		}
	}
	for _, l := range [...][]*Node{v.AllOf, v.AnyOf, v.OneOf} {
		b = binary.AppendUvarint(b, uint64(len(l)))
		for _, n := range l {
			b = appendNode(b, n)
		}
	}
	b = appendNode(b, v.Not)
	if l := v.Legacy; l != nil {
		// Rare and never shared: the address makes the key unique.
		b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(l))))
	}
	return b
}

func appendText[T string | []byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendNode(b []byte, n *Node) []byte {
	if n == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), uint64(uintptr(unsafe.Pointer(n)))) // patterns are interned
}

func appendFloat(b []byte, f *float64) []byte {
	if f == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(*f))
}

func appendInt(b []byte, i *int64) []byte {
	if i == nil {
		return append(b, 0)
	}
	return binary.AppendVarint(append(b, 1), *i)
}

// The sizes of the parts of a plan, in bytes, for Plan.Size.
const (
	planSize       = int64(unsafe.Sizeof(Plan{}))
	nodeSize       = int64(unsafe.Sizeof(Node{}))
	detailsSize    = int64(unsafe.Sizeof(details{}))
	operatorsSize  = int64(unsafe.Sizeof(Operators{}))
	validationSize = int64(unsafe.Sizeof(Validation{}))
	defaultSize    = int64(unsafe.Sizeof(Default{}))
	fragmentSize   = 48
	valueNodeSize  = 40
)
