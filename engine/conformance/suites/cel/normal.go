package cel

import "regexp"

var generatedType = regexp.MustCompile(`selfType\d+`)

// normal removes what differs between runs of upstream: the time in the name of self's type.
func normal(text string) string { return generatedType.ReplaceAllString(text, "selfType") }
