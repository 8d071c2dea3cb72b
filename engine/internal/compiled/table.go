package compiled

import (
	"errors"
	"net/http"

	"github.com/crdeval/crdeval/engine/internal/admission"
	"github.com/crdeval/crdeval/engine/internal/table"
	"github.com/crdeval/crdeval/engine/internal/tree"
)

// TableFault returns the Fault for the error of an object of a table. It returns other errors as they are.
func TableFault(err error) error {
	var limit *tree.LimitError
	switch {
	case errors.As(err, new(*admission.Fault)):
	case errors.As(err, &limit):
		return LimitExceeded(err.Error(), limit, err)
	case errors.As(err, new(table.Rejection)):
		return &admission.Fault{Code: admission.ObjectRejected, Text: err.Error(), Cause: err, Rejection: &admission.Rejection{
			Code: http.StatusInternalServerError, Message: err.Error(),
		}}
	}
	return err
}
