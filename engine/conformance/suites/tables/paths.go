package tables

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/crdeval/crdeval/engine/conformance/generate"
)

// oddPaths are templates instead of paths, or invalid.
var oddPaths = []string{
	".", ".spec}{.status", ".spec.a}text{.b", ".missing}{.spec", `."text"`, `.spec "text"`, ".spec 1", ".spec true", ".spec 1.5", ".spec 'a'.*", "..only", ".spec..only", ".spec.single.*", "..only[0]", "..k..only",
	".x}{range .spec.list[*]}{.a}{end", ".x}{range .spec.list[*]}{.a}{end}{.metadata.name", ".spec.a}{range .spec.list[*]}{.a}{end}{.metadata.name", ".x}{range .spec.list[*]}{range @.*}{@}{end}{end}{.metadata.name",
	".metadata.name}{end", ".x}{range .spec.list[*]}{[0]}{end", ".x}{range .spec.conditions[*]}{@}{end}{.metadata.namespace", ".spec.list[?(range)]", ".spec range", ".spec end", ".spec word",
	".metadata.labels.a", ".metadata.labels['app\\.kubernetes\\.io/name']", ".metadata.creationTimestamp", ".metadata.generation", ".metadata.managedFields", ".metadata", ".apiVersion", ".kind", ".items", ".items[0].spec",
}

const strange = "{}[]()@$.,'\"*?=<>! \t\n\\0-+aé:"

// path returns the path of a column. Most paths match a value in one of the objects.
func (m *maker) path() string {
	path := generate.Pick(m.Rand, oddPaths)
	if !m.Chance(18) {
		path = m.through(generate.Pick(m.Rand, m.objects), m.Between(1, 5))
	}
	if m.Chance(5) && path != "" {
		at := m.IntN(len(path))
		path = path[:at] + string(generate.Pick(m.Rand, []rune(strange))) + strings.ToValidUTF8(path[at:], "")
		if wild(path) { // if the order of Go maps can change the result, only paths to one value are used
			path = ".spec.single.*"
		}
	}
	if !strings.HasPrefix(path, ".") {
		path = "." + path
	}
	return strings.ToValidUTF8(path, "")
}

// wild reports whether the order of a map can change the result of a path.
func wild(path string) bool { return strings.Contains(path, ".*") || strings.Contains(path, "..") }

// through returns a path of some steps into a value.
func (m *maker) through(v any, steps int) string {
	if steps == 0 {
		return ""
	}
	switch v := v.(type) {
	case object:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		if len(names) == 0 || m.Chance(3) {
			return ".missing" + m.through(nil, steps-1)
		}
		name := generate.Pick(m.Rand, names)
		return m.member(name) + m.through(v[name], steps-1)
	case []any:
		return m.elements(v, steps)
	}
	if m.Chance(85) {
		return ""
	}
	return generate.Pick(m.Rand, []string{".a", "[0]", "[*]", "[?(@.a)]", "['a']"}) + m.through(nil, steps-1)
}

func (m *maker) member(name string) string {
	escaped := strings.ReplaceAll(name, ".", `\.`)
	switch n := m.IntN(100); {
	case n < 12:
		return "['" + escaped + "']"
	case n < 14:
		return fmt.Sprintf("['%s','a']", escaped)
	case n < 16:
		return "['" + name + "']"
	}
	return "." + escaped
}

func (m *maker) elements(list []any, steps int) string {
	number := func() int { return m.Between(-len(list)-1, len(list)+1) }
	i := 0
	if len(list) > 0 {
		i = m.IntN(len(list))
	}
	next := any(nil)
	if len(list) > 0 {
		next = list[i]
	}
	rest := m.through(next, steps-1)
	switch m.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("[%d]", i) + rest
	case 2:
		return fmt.Sprintf("[%d]", number()) + rest
	case 3:
		return "[*]" + rest
	case 4:
		return fmt.Sprintf("[%d:%d]", number(), number()) + rest
	case 5:
		return generate.Pick(m.Rand, []string{"[:]", "[::2]", "[1:]", "[:-1]", "[-1:]", "[0:9:0]", "[]", "[0,1]", "[-1,0]", "[1:2,0]"}) + rest
	case 6, 7, 8:
		return m.filter(next) + rest
	}
	return "[" + fmt.Sprint(len(list)-1) + "]" + rest
}

func (m *maker) filter(element any) string {
	left, right := "@", element
	if o, ok := element.(object); ok && len(o) > 0 {
		names := make([]string, 0, len(o))
		for name := range o {
			names = append(names, name)
		}
		slices.Sort(names)
		name := generate.Pick(m.Rand, names)
		left, right = "@"+m.member(name), o[name]
	}
	if m.Chance(15) {
		return "[?(" + left + ")]"
	}
	operator := generate.Pick(m.Rand, []string{"==", "==", "==", "!=", "<", ">", "<=", ">=", "=", " == "})
	if m.Chance(12) {
		right = m.scalar()
	}
	return "[?(" + left + operator + m.operand(right) + ")]"
}

// operand prints a value as the right side of a comparison.
func (m *maker) operand(v any) string {
	raw := string(text(v))
	var s string
	if json.Unmarshal([]byte(raw), &s) != nil {
		if m.Chance(10) {
			return "@.a"
		}
		return raw
	}
	if m.Chance(50) {
		return "'" + strings.NewReplacer("\n", `\n`, `\`, `\\`, "'", `\'`).Replace(s) + "'"
	}
	return raw
}
