// Package standalone builds a whole API server around package apiserver: storage, TLS, authentication, authorization,
// and the built-in resources that kubectl needs. The command crdeval-apiserver and package apiservertest use it.
//
// etcd.go starts an etcd in this process, authentication.go reads credentials, and kubeconfig.go writes them.
package standalone

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdserver "k8s.io/apiextensions-apiserver/pkg/apiserver"
	generatedopenapi "k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/authorization/path"
	"k8s.io/apiserver/pkg/authorization/union"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	basecompatibility "k8s.io/component-base/compatibility"

	"github.com/crdeval/crdeval/clients/apiserver"
	"github.com/crdeval/crdeval/clients/apiserver/access"
	"github.com/crdeval/crdeval/clients/apiserver/core"
	"github.com/crdeval/crdeval/clients/apiserver/rbac"
)

// DefaultPrefix is the prefix of the keys in etcd.
const DefaultPrefix = "/registry"

// watchTermination is the time in which watches end at shutdown. Without it they keep the server from stopping.
const watchTermination = 5 * time.Second

// Config describes a server.
type Config struct {
	// Evaluator evaluates CRDs and custom resources.
	Evaluator apiserver.Evaluator
	// Serving has the listener and the certificate.
	Serving *options.SecureServingOptionsWithLoopback
	// Etcd says how to reach etcd.
	Etcd storagebackend.TransportConfig
	// Prefix is the prefix of the keys in etcd. Default: DefaultPrefix.
	Prefix string
	// Authenticator identifies the callers.
	Authenticator authenticator.Request
	// ClientCA verifies client certificates. Nil: clients are not asked for certificates.
	ClientCA dynamiccertificates.CAContentProvider
	// RBAC authorizes requests with roles. Otherwise every authenticated caller may do everything. It requires Core.
	RBAC bool
	// Core serves namespaces, events, roles and access reviews besides CRDs. Objects then need an existing namespace.
	Core bool
	// Kinds serves the common types of Kubernetes too, such as pods, secrets and leases, which are only stored. Admission
	// webhooks can be configured. It requires Core.
	Kinds bool
}

// New builds a server.
func New(c Config) (*apiserver.Server, error) {
	config, err := c.Generic()
	if err != nil {
		return nil, err
	}
	var rules authorizer.RuleResolver = authorizerfactory.NewAlwaysAllowAuthorizer()
	if c.RBAC {
		if config.Authorization.Authorizer, rules, err = authorizeByRole(config.SharedInformerFactory); err != nil {
			return nil, err
		}
	}
	s, err := apiserver.New(apiserver.Config{Generic: config, Evaluator: c.Evaluator, CustomResources: config.RESTOptionsGetter}, genericapiserver.NewEmptyDelegate())
	if err != nil || !c.Core {
		return s, err
	}
	kinds := core.Options{Kinds: c.Kinds}
	if err := core.Install(s.GenericAPIServer, config.RESTOptionsGetter, config.SharedInformerFactory, kinds); err != nil {
		return nil, err
	}
	if err := rbac.Install(s.GenericAPIServer, config.RESTOptionsGetter, config.SharedInformerFactory); err != nil {
		return nil, err
	}
	return s, access.Install(s.GenericAPIServer, rules)
}

// Generic returns the configuration of upstream's generic server. It authorizes every authenticated caller.
func (c *Config) Generic() (*genericapiserver.RecommendedConfig, error) {
	config := genericapiserver.NewRecommendedConfig(crdserver.Codecs)
	config.EffectiveVersion = effectiveVersion{compatibility.DefaultBuildEffectiveVersion()}
	config.ShutdownWatchTerminationGracePeriod = watchTermination
	if err := c.Serving.ApplyToConfig(&config.Config); err != nil {
		return nil, err
	}
	config.Authentication.Authenticator = c.Authenticator
	config.Authorization.Authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
	if err := config.Authentication.ApplyClientCert(c.ClientCA, config.SecureServing); err != nil {
		return nil, err
	}
	prefix := c.Prefix
	if prefix == "" {
		prefix = DefaultPrefix
	}
	backend := storagebackend.NewDefaultConfig(prefix, crdserver.Codecs.LegacyCodec(apiextensionsv1.SchemeGroupVersion))
	backend.Transport = c.Etcd
	if err := options.NewEtcdOptions(backend).ApplyTo(&config.Config); err != nil {
		return nil, err
	}
	definitions, namer := generatedopenapi.GetOpenAPIDefinitions, openapinamer.NewDefinitionNamer(crdserver.Scheme)
	if c.Core {
		definitions = core.Definitions(rbac.Definitions(access.Definitions(definitions)), core.Options{Kinds: c.Kinds})
		namer = openapinamer.NewDefinitionNamer(crdserver.Scheme, clientscheme.Scheme)
	}
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	if !c.Core {
		return config, nil
	}
	client, err := kubernetes.NewForConfig(config.LoopbackClientConfig)
	if err != nil {
		return nil, err
	}
	config.SharedInformerFactory = informers.NewSharedInformerFactory(client, 0)
	config.AdmissionControl, err = core.Admission(client, config.SharedInformerFactory)
	if err == nil && c.Kinds {
		config.AdmissionControl, err = withWebhooks(config.AdmissionControl, client, config.SharedInformerFactory)
	}
	return config, err
}

// effectiveVersion names the version of Kubernetes if the build does not set one.
type effectiveVersion struct {
	basecompatibility.EffectiveVersion
}

func (v effectiveVersion) Info() *apimachineryversion.Info {
	info := v.EffectiveVersion.Info()
	if strings.HasPrefix(info.GitVersion, "v0.0.0-") {
		info.GitVersion = "v" + info.Major + "." + info.Minor + ".0+crdeval"
	}
	return info
}

// authorizeByRole returns an authorizer that allows everything to the group system:masters, and the health to all callers.
// Roles decide about other requests.
func authorizeByRole(factory informers.SharedInformerFactory) (authorizer.Authorizer, authorizer.RuleResolver, error) {
	roles := rbac.NewAuthorizer(factory.Rbac().V1())
	health, err := path.NewAuthorizer(healthPaths)
	if err != nil {
		return nil, nil, err
	}
	all, err := union.New(
		union.NamedAuthorizer{AuthorizerName: "privileged-groups", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)},
		union.NamedAuthorizer{AuthorizerName: "health", Authorizer: health},
		union.NamedAuthorizer{AuthorizerName: "rbac", Authorizer: roles})
	return all, roles, err
}
