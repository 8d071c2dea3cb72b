package cel

import "regexp"

var generatedType = regexp.MustCompile(`selfType\d+`)

// normal takes out of a text what is different in each run of upstream's: the time in the name of self's type.
func normal(text string) string { return generatedType.ReplaceAllString(text, "selfType") }
