package standalone

import (
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// contextName is the name of the cluster and of the context in the kubeconfig.
const contextName = "crdeval"

// WriteKubeconfig writes a kubeconfig with a token, that only the owner can read. It replaces the file at once, and
// creates its directory. ca has the certificates in PEM that clients trust.
func WriteKubeconfig(path, server, token string, ca []byte) (err error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[contextName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	config.AuthInfos[AdminName] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[contextName] = &clientcmdapi.Context{Cluster: contextName, AuthInfo: AdminName}
	config.CurrentContext = contextName
	text, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".kubeconfig") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if failure := f.Close(); err == nil {
		err = failure
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error counts
	}
	return err
}
