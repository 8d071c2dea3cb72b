package crdevalv1

// CatalogOf returns the catalog that a request names, in its context or itself. It returns "" for another message.
func CatalogOf(request any) string {
	switch r := request.(type) {
	case interface{ GetContext() *EvaluationContext }:
		return r.GetContext().GetCatalog()
	case interface{ GetCatalog() string }:
		return r.GetCatalog()
	}
	return ""
}
