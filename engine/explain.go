package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/jsonpath"

	"github.com/crdeval/crdeval/engine/internal/explain"
	"github.com/crdeval/crdeval/engine/internal/openapi"
	"github.com/crdeval/crdeval/internal/value"
)

// MaxExplanation bounds the text of an explanation in bytes. Beyond it there is a LIMIT_EXCEEDED.
const MaxExplanation = 64 << 20

// maxExplainRequest bounds what is asked for, in bytes. Names of properties may be long, but not that long.
const maxExplainRequest = 64 << 10

// ExplainOptions say how to explain.
type ExplainOptions struct {
	// APIVersion, GROUP/VERSION, asks for another version than that of the highest priority that is served.
	APIVersion string
	// Recursive lists the fields of fields, without what they are, down to MaxDepth levels; 0 is all of them.
	Recursive bool
	MaxDepth  int
}

// Explain returns what kubectl explain prints about a resource or one of its fields: TYPE.FIELDNAME[.FIELDNAME], as in crontabs.spec.replicas. TYPE is the
// resource's plural or singular, its kind in any case, a short name, or its plural with its group (crontabs.stable.example.com.spec). Of several that fit the first
// by group counts. Fields of lists and maps are entered without saying so; a dot in a name is written \., as in JSONPath.
//
// The error is INVALID_ARGUMENT for a request that cannot be read, a TYPE that none of the CRDs has, or a field that does not exist; VERSION_NOT_FOUND or
// VERSION_NOT_SERVED for an APIVersion that is not there; LIMIT_EXCEEDED; ITEM_DEADLINE.
func Explain(ctx context.Context, request string, o ExplainOptions, crds ...PublishedCRD) (_ string, err error) {
	defer recovered(&err)
	if o.MaxDepth < 0 || o.MaxDepth > 0 && !o.Recursive {
		return "", invalid("MaxDepth must not be negative, and is for recursive explanations alone")
	}
	fields, err := explainPath(request)
	if err != nil {
		return "", err
	}
	c, fields, err := explained(request, fields, inOrder(crds))
	if err != nil {
		return "", err
	}
	version, err := c.explainedVersion(o.APIVersion)
	if err != nil {
		return "", err
	}
	p, err := c.openAPIPart(ctx, version, openapi.V3Form, mostKept)
	if err != nil {
		return "", err
	}
	document, err := openapi.V3(openapi.PartsOf(p), openapi.Room{MaxBytes: MaxOpenAPIBytes})
	if err != nil {
		return "", openAPIError(err)
	}
	text, err := explain.Text(document, explain.Request{
		Group: c.Group, Version: version, Kind: c.Names.Kind, Path: fields, Recursive: o.Recursive, MaxDepth: o.MaxDepth, MaxBytes: MaxExplanation,
	})
	switch {
	case err == nil:
		return text, nil
	case errors.As(err, new(*explain.NoFieldError)):
		return "", invalid(err.Error())
	case errors.Is(err, explain.ErrTooLong):
		return "", &Error{Reason: ReasonLimitExceeded, Limit: MaxExplanation, Err: &value.LimitError{Name: "max_explanation_bytes", Limit: "explanation", Unit: "bytes", Maximum: MaxExplanation},
			Message: fmt.Sprintf("the explanation of %q would have more than %d bytes: ask for a field, or bound the depth", request, MaxExplanation)}
	}
	return "", &Error{Reason: ReasonInternal, Message: "explanation of " + c.Name + ": " + err.Error(), Err: err}
}

func invalid(message string) *Error { return &Error{Reason: ReasonInvalidArgument, Message: message} }

// explainPath returns the names in a request, the first of which begins the TYPE. They are parsed as a JSONPath of fields alone.
// (k8s.io/kubectl/pkg/explain/explain.go, jsonPathParse)
func explainPath(request string) ([]string, error) {
	if len(request) > maxExplainRequest {
		return nil, &Error{Reason: ReasonLimitExceeded, Limit: maxExplainRequest, Actual: int64(len(request)), Err: &value.LimitError{Name: "max_explain_path_bytes", Limit: "path", Unit: "bytes", Maximum: maxExplainRequest},
			Message: fmt.Sprintf("a path of %d bytes exceeds the limit of %d: no field has such a one", len(request), maxExplainRequest)}
	}
	parsed, err := jsonpath.Parse("user", "{."+strings.TrimSuffix(request, ".")+"}")
	if err != nil {
		return nil, &Error{Reason: ReasonInvalidArgument, Message: fmt.Sprintf("%q is not TYPE.FIELDNAME[.FIELDNAME]: %v", request, err), Err: err}
	}
	const advice = "write TYPE.FIELDNAME[.FIELDNAME], such as crontabs.spec.replicas"
	if len(parsed.Root.Nodes) != 1 {
		return nil, invalid(fmt.Sprintf("%q is more than one path: %s", request, advice))
	}
	one, ok := parsed.Root.Nodes[0].(*jsonpath.ListNode)
	if !ok || len(one.Nodes) == 0 {
		return nil, invalid(fmt.Sprintf("%q names no resource: %s", request, advice))
	}
	var names []string
	for _, node := range one.Nodes {
		field, ok := node.(*jsonpath.FieldNode)
		if !ok {
			return nil, invalid(fmt.Sprintf("%q has more than names of fields: %s", request, advice))
		}
		names = append(names, field.Value)
	}
	return names, nil
}

// explained finds the CRD that a request means, and the fields that follow. Of those that have the name it is the one whose plural and group begin the
// request, else the first by group.
// (explain.go, SplitAndParseResourceRequestWithMatchingPrefix)
func explained(request string, names []string, crds []PublishedCRD) (*PublishedCRD, []string, error) {
	var found []*PublishedCRD
	for i := range crds {
		if c := &crds[i]; len(c.served()) > 0 && goesBy(c.Names, names[0]) {
			found = append(found, c)
		}
	}
	slices.SortStableFunc(found, func(a, b *PublishedCRD) int { return cmp.Compare(a.Group, b.Group) })
	for _, c := range found {
		rest, whole := strings.CutPrefix(request, c.Names.Plural+"."+c.Group)
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
		return nil, nil, invalid(fmt.Sprintf("no CRD has a resource type %q", names[0]))
	}
	return found[0], names[1:], nil
}

// goesBy reports whether a word is one of the names of a resource.
func goesBy(n Names, word string) bool {
	lower := strings.ToLower(word)
	return lower == n.Plural || lower == n.Singular || lower == strings.ToLower(n.Kind) || slices.Contains(n.ShortNames, word)
}

// explainedVersion returns the version that is asked for: the served one of the highest priority if none is.
func (c *PublishedCRD) explainedVersion(apiVersion string) (string, error) {
	served := c.served()
	if apiVersion == "" {
		return served[0], nil
	}
	group, version, _ := strings.Cut(apiVersion, "/")
	listed := func(v VersionInfo) bool { return v.Name == version }
	switch {
	case group != c.Group || !slices.ContainsFunc(c.Versions, listed):
		return "", &Error{Reason: ReasonVersionNotFound, Message: fmt.Sprintf("couldn't find resource for %q: CRD %s has no such version", apiVersion+", Resource="+c.Names.Plural, c.Name)}
	case !slices.Contains(served, version):
		return "", &Error{Reason: ReasonVersionNotServed, Message: fmt.Sprintf("CRD %s does not serve version %q", c.Name, version)}
	}
	return version, nil
}
