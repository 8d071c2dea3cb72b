package tree

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// yamlGenerator writes documents of block and flow collections with all kinds of scalars.
type yamlGenerator struct {
	*rand.Rand
	strings.Builder
}

var generatedScalars = []string{"a", "true", "no", "~", "1", "-1.5", "0x1f", "1_0", "2001-12-14", "''", `""`, "'it''s'", `"a\tb\n"`, `"é"`, "é", "a b", "a:b", "a#b",
	"a # c", `a"b\c`, "'a\n\n   b'", "\"a\n  b \\\n   c\"", "[]", "{}", "[a, 'b', {c: 1}]", "{\"a\":1, b: [x,\n 2]}", "a\n        b\n\n         c", "1.2.3", "-a", ":a", "null", "''''", "\"\\x41\""}

func (g *yamlGenerator) document() []byte {
	g.WriteString([]string{"", "---\n", "# c\n"}[g.IntN(3)])
	if g.IntN(4) == 0 {
		g.sequence(0, 0)
	} else {
		g.mapping(0, 0)
	}
	return []byte(g.String())
}

func (g *yamlGenerator) indent(n int) { g.WriteString(strings.Repeat(" ", n)) }

func (g *yamlGenerator) mapping(column, depth int) {
	for k := range 1 + g.IntN(4) {
		if k > 0 {
			g.indent(column)
		}
		key := fmt.Sprintf("%c%d", 'a'+g.IntN(26), k)
		if g.IntN(8) == 0 {
			key = `"` + key + `"`
		}
		g.WriteString(key + ":")
		g.value(column, depth+1, column)
	}
}

func (g *yamlGenerator) sequence(column, depth int) {
	for k := range 1 + g.IntN(4) {
		if k > 0 {
			g.indent(column)
		}
		g.WriteByte('-')
		switch spaces := 1 + g.IntN(2); {
		case depth < 5 && g.IntN(3) == 0:
			g.indent(spaces)
			g.mapping(column+1+spaces, depth+1)
		case depth < 5 && g.IntN(6) == 0:
			g.indent(spaces)
			g.sequence(column+1+spaces, depth+1)
		default:
			g.value(column, depth+1, column+1)
		}
	}
}

// value writes the value of a key or dash. A sequence below a key may begin at the column least.
func (g *yamlGenerator) value(column, depth, least int) {
	switch n := g.IntN(10); {
	case n < 2 && depth < 5:
		g.WriteByte('\n')
		next := column + 1 + g.IntN(3)
		g.indent(next)
		g.mapping(next, depth)
	case n < 4 && depth < 5:
		g.WriteByte('\n')
		next := least + g.IntN(2)
		g.indent(next)
		g.sequence(next, depth)
	case n == 4:
		g.WriteString([]string{" |", " |-", " |+", " >", " >-", " >+"}[g.IntN(6)] + "\n")
		next := column + 1 + g.IntN(3)
		for range g.IntN(5) {
			if g.IntN(4) > 0 {
				g.indent(next + g.IntN(5)/4)
				g.WriteString([]string{"text", "# no", `"q"`, "- x", "a: b", "é\t"}[g.IntN(6)])
			}
			g.WriteByte('\n')
		}
	case n == 5:
		g.WriteString([]string{"\n", " # c\n", "\n\n  # c\n"}[g.IntN(3)])
	default:
		g.WriteString(" " + generatedScalars[g.IntN(len(generatedScalars))] + "\n")
	}
}
