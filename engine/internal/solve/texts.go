package solve

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	apiservercel "k8s.io/apiserver/pkg/cel"

	"github.com/crdeval/crdeval/engine/internal/sample"
)

// texts proposes strings for an expression.
func (s *run) texts(e ast.Expr, v *env, list []string) {
	for _, text := range list {
		s.assign(e, v, types.String(text))
	}
}

// wantText is want for predicates of strings.
func (s *run) wantText(name string, list []ast.Expr, v *env, want bool) {
	if len(list) == 0 {
		return
	}
	text, _ := s.eval(list[0], v).(types.String)
	now, part := string(text), ""
	if len(list) > 1 {
		operand, _ := s.eval(list[1], v).(types.String)
		part = string(operand)
	}
	switch name {
	case "startsWith", "endsWith", "contains":
		if want {
			s.texts(list[0], v, withPartIn(name, now, part))
			for _, t := range partsOf(name, now) {
				s.texts(list[1], v, []string{t})
			}
		} else {
			for _, fill := range []string{"", "a", "b", "0"} {
				s.texts(list[0], v, []string{strings.ReplaceAll(now, part, fill), fill + now, now + fill})
			}
		}
	case "matches":
		if !want {
			s.texts(list[0], v, []string{"", "!", now + "!", "a", "A", "0"})
			return
		}
		for try := range 8 {
			made := sample.Matching(s.random, part, try, len(now))
			s.texts(list[0], v, []string{made})
			if now != "" && !strings.HasPrefix(made, now) {
				s.texts(list[0], v, []string{now + made, made + now})
			}
		}
	case "isSorted":
		s.assignList(name, list, v, types.Bool(want))
	default:
		for _, arg := range list {
			if known := s.syntaxes(name); want && len(known) > 0 {
				s.texts(arg, v, known)
			}
		}
	}
}

// withPartIn returns strings similar to a string that begin with, end with or contain a part.
func withPartIn(name, now, part string) (list []string) {
	for n := len(part) - 1; n > 0; n-- { // a part of it may be there
		if name != "endsWith" && strings.HasPrefix(now, part[n:]) {
			list = append(list, part+now[len(part)-n:])
		}
		if name != "startsWith" && strings.HasSuffix(now, part[:n]) {
			list = append(list, now+part[n:])
		}
	}
	cut := func(i, j int) string {
		if i > len(now) || j > len(now) || i > j {
			return ""
		}
		return now[i:j]
	}
	if name != "endsWith" {
		list = append(list, part+now, part+cut(len(part), len(now)), part, part+"a", part+"0")
	}
	if name != "startsWith" {
		list = append(list, now+part, cut(0, len(now)-len(part))+part, part, "a"+part)
	}
	if name == "contains" {
		for i := 1; i < len(now); i++ {
			list = append(list, now[:i]+part+now[i:], now[:i]+part+cut(i+len(part), len(now)))
		}
	}
	return list
}

// partsOf returns strings with which a string begins or ends, or which it contains.
func partsOf(name, now string) []string {
	half := len(now) / 2
	if name == "endsWith" {
		return []string{now, now[half:]}
	}
	return []string{now, now[:half]}
}

// resizedTexts returns strings of a length that have the beginning, the end or both in common with a string.
func resizedTexts(now string, n int) (list []string) {
	runes := []rune(now)
	if by := n - len(runes); by >= 0 {
		fillers := []string{"a", "0", "z", " "}
		if len(runes) > 0 {
			fillers = append(fillers, string(runes[len(runes)-1]))
		}
		for _, fill := range fillers {
			more := strings.Repeat(fill, by)
			list = append(list, now+more, more+now)
			for _, i := range []int{len(runes) / 2, len(runes) - 1, 1} {
				if i > 0 && i < len(runes) {
					list = append(list, string(runes[:i])+more+string(runes[i:]))
				}
			}
		}
		return list
	}
	by := len(runes) - n
	for i := 0; i <= n && len(list) < 24; i++ {
		list = append(list, string(slices.Delete(slices.Clone(runes), i, i+by)))
	}
	return list
}

// spliced returns a string with another part from an index to another one, -1 for the end.
func spliced(now, part string, from, end int) string {
	from = max(from, 0)
	for len(now) < from {
		now += "a"
	}
	out := now[:from] + part
	if end >= 0 && end < len(now) {
		out += now[end:]
	}
	return out
}

// withPartAt returns strings in which a part is at an index, first or last. A negative index is for none.
func withPartAt(now, part string, at int, last bool) []string {
	if part == "" || at > mostSize {
		return nil
	}
	if at < 0 {
		return []string{strings.ReplaceAll(now, part, ""), strings.ReplaceAll(now, part, "a")}
	}
	for len(now) < at {
		now += "a"
	}
	before, after := now[:at], now[at:]
	if last {
		after = strings.ReplaceAll(after, part, "a")
	} else {
		before = strings.ReplaceAll(before, part, strings.Repeat("a", len(part)))
	}
	return []string{before + part + after, before + part + after[min(len(part), len(after)):], before + part}
}

// withPart returns a URL with another part.
func withPart(u url.URL, name string, to ref.Val) string {
	text, _ := to.(types.String)
	switch t := string(text); name {
	case "getScheme":
		u.Scheme = t
	case "getHost":
		u.Host = t
	case "getHostname":
		if port := u.Port(); port != "" {
			t += ":" + port
		}
		u.Host = t
	case "getPort":
		if u.Host = u.Hostname(); t != "" {
			u.Host += ":" + t
		}
	case "getEscapedPath":
		u.Path, u.RawPath = t, ""
	case "getQuery":
		query := url.Values{}
		if m, ok := treeOf(to), true; ok && m != nil {
			for _, member := range m.Items {
				for _, x := range member.Items {
					one, _ := x.Content()
					query.Add(member.Key, one)
				}
			}
		}
		u.RawQuery = query.Encode()
	}
	return u.String()
}

// syntaxes returns strings that a function accepts; for "", those of the functions of the rule.
func (s *run) syntaxes(name string) (list []string) {
	if name != "" {
		return sample.FunctionTexts(name + "(")
	}
	ast.PreOrderVisit(s.ast.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.CallKind {
			list = append(list, sample.FunctionTexts(e.AsCall().FunctionName()+"(")...)
		}
	}))
	return list
}

// formatTexts returns strings for the formats of CEL, some of them similar to the value of an expression.
func (s *run) formatTexts(e ast.Expr, v *env) []string {
	now, _ := s.eval(e, v).(types.String)
	var plain strings.Builder
	for _, c := range strings.ToLower(string(now)) {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' {
			plain.WriteRune(c)
		} else {
			plain.WriteByte('-')
		}
	}
	label := strings.Trim(plain.String(), "-")
	return []string{label, label + "a", "a" + label, label[:min(len(label), 63)], "a" + plain.String() + "a",
		"a", "a-b", "a.b", "example.com", "example.com/a", "A_b",
		"https://a.example.com", "025b0d74-00a2-4048-bf57-227c5111bb34", "aGVsbG8=", "2024-02-29", "2024-02-29T12:00:00Z"}
}

// forms returns the texts of a value that a conversion reads as this value.
func forms(v ref.Val) (list []string) {
	switch v := v.(type) {
	case types.Duration:
		for _, unit := range []struct {
			name string
			of   time.Duration
		}{{"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
			if v.Duration%unit.of == 0 {
				list = append(list, strconv.FormatInt(int64(v.Duration/unit.of), 10)+unit.name)
			}
		}
	case apiservercel.Semver:
		list = append(list, "v"+v.String())
	case apiservercel.Quantity:
		for _, f := range []resource.Format{resource.DecimalSI, resource.BinarySI, resource.DecimalExponent} {
			q := v.DeepCopy()
			q.Format = f
			list = append(list, q.String())
		}
		if n, ok := v.AsInt64(); ok {
			list = append(list, strconv.FormatInt(n, 10))
		}
		for scale, unit := range []string{"", "Ki", "Mi", "Gi", "Ti"} {
			if n, ok := v.AsInt64(); ok && scale > 0 && n%(1<<(10*scale)) == 0 {
				list = append(list, strconv.FormatInt(n>>(10*scale), 10)+unit)
			}
		}
	}
	return list
}

// kin returns strings that are related to a string: in the syntaxes in which it can be read, values next to it and
// values that contain it or that it contains.
func kin(text string) (list []string) {
	list = []string{text, strings.ToLower(text), strings.ToUpper(text), strings.TrimSpace(text), text + "a", "a" + text}
	next := func(v ref.Val) {
		for _, sign := range []int{1, -1} {
			for _, x := range nextTo(v, sign) {
				if t := treeOf(x); t != nil {
					if near, ok := t.Content(); ok {
						list = append(list, near)
					} else {
						list = append(list, t.Text)
					}
				}
			}
		}
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		next(types.Int(i))
	}
	if q := quantity(text); q != nil {
		next(q)
	}
	if d, err := time.ParseDuration(text); err == nil {
		next(types.Duration{Duration: d})
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		next(types.Timestamp{Time: t})
		for day := range 7 {
			list = append(list, t.AddDate(0, 0, day).Format(time.RFC3339Nano))
		}
	}
	prefix, err := netip.ParsePrefix(text)
	address := prefix.Addr()
	if err == nil {
		list = append(list, address.String(), address.Next().String(), prefix.Masked().String())
	} else if address, err = netip.ParseAddr(text); err != nil {
		return list
	}
	for _, bits := range []int{8, 16, 24, 28, 32, 48, 64, 128} {
		if p, err := address.Prefix(bits); err == nil {
			list = append(list, p.String())
		}
	}
	return list
}
