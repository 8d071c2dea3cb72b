package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine"
	"github.com/crdeval/crdeval/engine/host"
	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/explain"
	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// maxExplanation bounds the text of an explanation in bytes.
const maxExplanation = 64 << 20

// maxExplainRequest bounds the request in bytes.
const maxExplainRequest = 64 << 10

// ExplainOptions are the options of kubectl explain.
type ExplainOptions struct {
	// APIVersion (GROUP/VERSION) selects a version. The default is the served version with the highest priority.
	APIVersion string
	// Levels is how many levels of fields are listed without descriptions, such as AllLevels for kubectl's --recursive. 0
	// lists one level with descriptions.
	Levels uint
}

// AllLevels are the levels of kubectl explain --recursive.
const AllLevels = math.MaxUint

// Explain returns what kubectl explain prints about a resource or one of its fields. The request is
// TYPE.FIELDNAME[.FIELDNAME], such as crontabs.spec.replicas. TYPE is the plural, singular or short name of the
// resource, its kind in any case, or its plural with its group (crontabs.stable.example.com.spec). If several CRDs
// match, the first by group is explained. Lists and maps are entered implicitly. A dot in a name is escaped as \., as
// in JSONPath.
//
// The error is INVALID_ARGUMENT for a request that cannot be parsed, an unknown TYPE, or an unknown field;
// VERSION_NOT_FOUND or VERSION_NOT_SERVED for the APIVersion; LIMIT_EXCEEDED; ITEM_DEADLINE.
func Explain(ctx context.Context, request string, o ExplainOptions, crds ...CRD) (_ string, err error) {
	defer host.Recover(&err)
	fields, err := explainPath(request)
	if err != nil {
		return "", err
	}
	c, fields, err := findExplained(request, fields, inOrder(crds))
	if err != nil {
		return "", err
	}
	version, err := c.explainedVersion(o.APIVersion)
	if err != nil {
		return "", err
	}
	document, err := OpenAPI{}.document(ctx, openapi.V3Form, []publishedVersion{{c, version}})
	if err != nil {
		return "", err
	}
	text, err := explain.Text(document.JSON, explain.Request{
		Group: c.Group, Version: version, Kind: c.Names.Kind, Path: fields, Levels: o.Levels,
		MaxBytes: maxExplanation,
	})
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, new(*explain.NoFieldError)):
		return "", invalid("%s", err)
	case errors.Is(err, explain.ErrTooLong):
		limit := &tree.LimitError{Name: "max_explanation_bytes", Limit: "explanation", Unit: "bytes", Maximum: maxExplanation}
		return "", limitExceeded(fmt.Sprintf("the explanation of %q would have more than %d bytes: ask for a field, or bound the depth",
			request, maxExplanation), limit, limit)
	}
	return "", failed(admission.Internal, "explanation of "+c.Name, err)
}

// explainPath parses a request as a JSONPath of field names. The first name begins the TYPE.
// (k8s.io/kubectl/pkg/explain/explain.go, jsonPathParse)
func explainPath(request string) ([]string, error) {
	if len(request) > maxExplainRequest {
		limit := &tree.LimitError{
			Name: "max_explain_path_bytes", Limit: "path", Unit: "bytes", Maximum: maxExplainRequest, Actual: int64(len(request)),
		}
		return nil, limitExceeded(fmt.Sprintf("a path of %d bytes exceeds the limit of %d: no field has such a long path",
			len(request), maxExplainRequest), limit, limit)
	}
	parsed, err := jsonpath.Parse("user", "{."+strings.TrimSuffix(request, ".")+"}")
	if err != nil {
		return nil, failed(admission.InvalidArgument, fmt.Sprintf("%q is not TYPE.FIELDNAME[.FIELDNAME]", request), err)
	}
	const advice = "write TYPE.FIELDNAME[.FIELDNAME], such as crontabs.spec.replicas"
	if len(parsed.Root.Nodes) != 1 {
		return nil, invalid("%q is more than one path: %s", request, advice)
	}
	one, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok || len(one.Nodes) == 0 {
		return nil, invalid("%q names no resource: %s", request, advice)
	}
	var names []string
	for _, node := range one.Nodes {
		field, ok := node.(*jsonpath.FieldNode)
		if !ok {
			return nil, invalid("%q has more than names of fields: %s", request, advice)
		}
		names = append(names, field.Value)
	}
	return names, nil
}

// findExplained returns the CRD that a request names and the names of the fields that follow. Of several matches it is
// the one whose plural and group begin the request, else the first by group. (explain.go,
// SplitAndParseResourceRequestWithMatchingPrefix)
func findExplained(request string, names []string, crds []CRD) (*CRD, []string, error) {
	var found []*CRD
	for i := range crds {
		if c := &crds[i]; slices.ContainsFunc(c.Versions, isServed) && hasName(c.names(), names[0]) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *CRD) int { return cmp.Compare(a.Group, b.Group) })
	for _, c := range found {
		rest, whole := strings.CutPrefix(request, c.names().Plural+"."+c.Group)
		if !whole {
			continue
		}
		if rest == "" || rest == "." {
			return c, nil, nil
		}
		if fields, err := explainPath("x" + rest); err == nil && (rest[0] == '.' || rest[0] == '[') {
			return c, fields[1:], nil
		}
	}
	if len(found) == 0 {
		return nil, nil, invalid("no CRD has a resource type %q", names[0])
	}
	return found[0], names[1:], nil
}

// hasName reports whether a word is one of the names of a resource.
func hasName(n apiextensionsv1.CustomResourceDefinitionNames, word string) bool {
	lower := strings.ToLower(word)
	return lower == n.Plural || lower == n.Singular || lower == strings.ToLower(n.Kind) || slices.Contains(n.ShortNames, word)
}

// explainedVersion returns the requested version, by default the served version with the highest priority.
func (c *CRD) explainedVersion(apiVersion string) (string, error) {
	if apiVersion == "" {
		return c.Versions[slices.IndexFunc(c.Versions, isServed)].Name, nil
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	i := slices.IndexFunc(c.Versions, func(v engine.VersionInfo) bool { return v.Name == version })
	switch {
	case group != c.Group || i < 0:
		return "", &engine.Error{Reason: engine.ReasonVersionNotFound, Message: fmt.Sprintf(
			"couldn't find resource for %q: CRD %s has no such version", apiVersion+", Resource="+c.names().Plural, c.Name)}
	case !c.Versions[i].Served:
		return "", &engine.Error{Reason: engine.ReasonVersionNotServed, Message: fmt.Sprintf("CRD %s does not serve version %q", c.Name, version)}
	}
	return version, nil
}
