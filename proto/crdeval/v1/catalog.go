package crdevalv1

// CatalogOf returns the catalog that a request names, and the path of the field. The path is "" for a message without
// such a field.
func CatalogOf(request any) (catalog, field string) {
	switch r := request.(type) {
	case interface{ GetContext() *EvaluationContext }:
		return r.GetContext().GetCatalog(), "context.catalog"
	case interface{ GetCatalog() string }:
		return r.GetCatalog(), "catalog"
	}
	return "", ""
}
