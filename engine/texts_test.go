package engine

// textsOf returns the texts of warnings.
func textsOf(list []Warning) (texts []string) {
	for i := range list {
		texts = append(texts, list[i].Text)
	}
	return texts
}
