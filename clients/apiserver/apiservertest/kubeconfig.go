package apiservertest

import (
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig for a configuration that Start returned, and returns its path. Programs that a test
// starts can use it until the test ends.
func Kubeconfig(t testing.TB, config *rest.Config) string {
	t.Helper()
	const name = "test"
	c := clientcmdapi.NewConfig()
	c.Clusters[name] = &clientcmdapi.Cluster{
		Server: config.Host, CertificateAuthorityData: config.CAData, TLSServerName: config.ServerName,
	}
	c.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: config.BearerToken}
	c.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	c.CurrentContext = name
	path := filepath.Join(t.TempDir(), "kubeconfig")
	check(t, clientcmd.WriteToFile(*c, path))
	return path
}
