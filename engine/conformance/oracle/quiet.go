package oracle

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// What the API server would write to its log about odd requests is what the cases are about: nobody reads it here.
// Upstream's handlers of errors also sleep.
func init() {
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil
}
