package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/crdeval/crdeval/server/api"
	"github.com/crdeval/crdeval/server/gateway/codec"
	"github.com/crdeval/crdeval/server/webhook"
)

const reviewKind = "ConversionReview"

// reviewVersions are the supported versions of reviews. Reviews of these versions have the same fields.
var reviewVersions = []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"}

// maxShown is the maximum length of a client's text in a message, in code points.
const maxShown = 100

// maxReviewObjects bounds the objects of a review. An API server sends at most the objects of one page of a list.
const maxReviewObjects = 1 << 20

// reviewReader reads a ConversionReview.
type reviewReader struct {
	codec.Scanner
	review     webhook.Conversion
	kind       string
	hasRequest bool
}

// readConversion reads a ConversionReview. The objects are slices of the body and are not parsed, so an error in an
// object is not an error of the body. The error is a status.
func readConversion(body []byte) (*webhook.Conversion, error) {
	s := reviewReader{Scanner: codec.Scanner{JSON: body}}
	err := s.Start()
	if err == nil {
		err = s.Elements('{', '}', "a "+reviewKind, s.readMember)
	}
	if err == nil {
		err = s.End()
	}
	r := &s.review
	// Check the version first: in another version, fields can have other types.
	known := slices.Contains(reviewVersions, r.APIVersion) && s.kind == reviewKind
	switch {
	case known && err == nil:
		return r, checkConversion(r, s.hasRequest)
	case !known && (err == nil || r.APIVersion != "" && s.kind != ""):
		return nil, malformed(fmt.Sprintf("the body has apiVersion %q and kind %q, but crdeval answers only %s of %s: "+
			`set conversionReviewVersions: ["v1"] in spec.conversion.webhook of the CRD`,
			webhook.Cut(r.APIVersion, maxShown), webhook.Cut(s.kind, maxShown), reviewKind, strings.Join(reviewVersions, " and ")))
	}
	if limit, is := errors.AsType[*api.Error](err); is {
		return nil, limit
	}
	return nil, malformed(err.Error())
}

// checkConversion rejects a request that lacks a field that API servers always set.
func checkConversion(r *webhook.Conversion, hasRequest bool) error {
	switch {
	case !hasRequest:
		return malformed("the " + reviewKind + " has no request")
	case r.UID == "":
		return malformed("request.uid is empty: the answer must repeat it")
	case r.DesiredAPIVersion == "":
		return malformed("request.desiredAPIVersion is empty")
	}
	return nil
}

// readMember reads a member of the review.
func (s *reviewReader) readMember(int) error {
	name, err := s.Key()
	if err != nil {
		return err
	}
	switch string(name) {
	case "apiVersion":
		return s.readText(&s.review.APIVersion)
	case "kind":
		return s.readText(&s.kind)
	case "request":
		s.hasRequest = true
		return s.Elements('{', '}', "the request of a "+reviewKind, s.readRequestMember)
	}
	return s.skip()
}

// readRequestMember reads a member of the request of the review.
func (s *reviewReader) readRequestMember(int) error {
	name, err := s.Key()
	if err != nil {
		return err
	}
	switch string(name) {
	case "uid":
		return s.readText(&s.review.UID)
	case "desiredAPIVersion":
		return s.readText(&s.review.DesiredAPIVersion)
	case "objects":
		return s.readObjects()
	}
	return s.skip()
}

// readObjects reads the objects of a review, or null.
func (s *reviewReader) readObjects() error {
	if s.review.Objects != nil {
		return s.Fail("there are two lists of objects")
	}
	if s.Peek() == 'n' {
		return s.skip()
	}
	return s.Elements('[', ']', "a list of objects", func(i int) error {
		if i == maxReviewObjects {
			return api.LimitExceeded("max_review_objects", maxReviewObjects,
				"the %s has more objects than the limit max_review_objects, which is %d", reviewKind, maxReviewObjects)
		}
		object, err := s.Value()
		s.review.Objects = append(s.review.Objects, object)
		return err
	})
}

// readText reads a string.
func (s *reviewReader) readText(into *string) error {
	text, err := s.Text()
	*into = string(text)
	return err
}

// skip skips a value. It returns an error if the value is not JSON.
func (s *reviewReader) skip() error {
	s.Space()
	start := s.Pos
	text, err := s.Value()
	if err == nil && !json.Valid(text) {
		s.Pos = start
		err = s.Fail("the value is not JSON")
	}
	return err
}
