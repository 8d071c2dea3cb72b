package oracle

import (
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// The cases contain odd requests on purpose, so what the API server would log about them is dropped. Upstream's error
// handlers also sleep.
func init() {
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil
}
