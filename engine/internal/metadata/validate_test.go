package metadata

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestValidateOrder: upstream walks maps, but what it says about one key has an order, and the keys have one here.
func TestValidateOrder(t *testing.T) {
	m := &metav1.ObjectMeta{
		Name:        "x",
		Labels:      map[string]string{"<": "&", "b": "?", "a": "!"},
		Annotations: map[string]string{"Z/": "", "-/-": "", "big": strings.Repeat("x", 256<<10)},
	}
	var got []string
	for _, err := range Validate(m, false) {
		text, _, _ := strings.Cut(err.Error(), " must ")
		got = append(got, text)
	}
	want := []string{
		`metadata.labels: Invalid value: "<": name part`,
		`metadata.labels: Invalid value: "&": a valid label`,
		`metadata.labels: Invalid value: "!": a valid label`,
		`metadata.labels: Invalid value: "?": a valid label`,
		`metadata.annotations: Invalid value: "-/-": prefix part a lowercase RFC 1123 subdomain`,
		`metadata.annotations: Invalid value: "-/-": name part`,
		`metadata.annotations: Invalid value: "Z/": name part`,
		`metadata.annotations: Invalid value: "Z/": name part`,
		`metadata.annotations: Too long: may not be more than 262144 bytes`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// Two labels with the same bad value cause one error upstream. It must not change the order of the others.
func TestValidateReportsOnce(t *testing.T) {
	m := &metav1.ObjectMeta{Name: "x", Namespace: "d", Labels: map[string]string{"ok": "fine", "bad key": "fine", "a": "bad value", "b": "bad value"},
		Annotations: map[string]string{"also bad": "x"}}
	var got []string
	for _, err := range Validate(m, true) {
		got = append(got, fmt.Sprint(err.Field, " ", err.BadValue))
	}
	if want := []string{"metadata.labels bad value", "metadata.labels bad key", "metadata.annotations also bad"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
