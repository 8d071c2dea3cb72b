package app

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/crdeval/crdeval/server/settings"
)

func TestDefaults(t *testing.T) {
	c, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	if c.Memory != 0 || c.CacheBytes != 0 || c.MaxMessageBytes != 0 || c.MaxDocumentBytes != 3*settings.MiB || c.MaxBatchItems != 1000 || c.MaxDocumentDepth != 10000 ||
		fmt.Sprint(c.GRPCAddress, c.HTTPAddress) != "[localhost:9090] [localhost:8080]" || c.Store != StoreBolt {
		t.Errorf("%+v", c)
	}
}

// parse reads a configuration as the command line does.
func parse(t *testing.T, args ...string) (Config, error) {
	t.Helper()
	return Parse(args, os.LookupEnv)
}

func write(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "crdeval.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Every setting can be made as a flag, by the environment and in the file, to the same effect; and each is in this test.
func TestParity(t *testing.T) {
	values := map[string]string{
		"grpc-address": ":1,unix:///x", "http-address": ":2", "metrics-address": ":3", "tls-cert": "c", "tls-key": "k", "tls-client-ca": "a", "tls-client-auth": "optional", "auth-token-file": "t",
		"store": "memory", "data-dir": "d", "max-wait": "7s", "cache-bytes": "1MiB", "max-in-flight": "8", "max-item-time": "9s", "max-message-bytes": "9MiB", "max-batch-items": "10",
		"max-document-bytes": "11KiB", "max-document-depth": "12", "max-alias-factor": "13", "max-alias-bytes": "14KiB", "drain-delay": "15s", "drain-timeout": "16s", "pprof-address": "localhost:1", "memory": "1GiB",
		"log-level": "error", "log-format": "json", "crds": "x,y", "crds-catalog": "c", "etcd-endpoints": "http://a:1,http://b:2", "etcd-prefix": "/p/", "etcd-ca": "a", "etcd-cert": "b",
		"etcd-key": "c", "etcd-user": "d", "etcd-password-file": "e",
		"conversion-webhooks": "a.example,in-cluster", "conversion-services": "ns/x=127.0.0.1:1", "conversion-cert": "f", "conversion-key": "g", "conversion-timeout": "9s",
		"allowed-hosts": "x.example,y", "audit-log": "q", "access-file": "h", "oidc-issuer": "https://i", "oidc-audience": "j,k", "oidc-username-claim": "email", "oidc-username-prefix": "p-", "oidc-groups-claim": "l",
		"oidc-groups-prefix": "m-", "oidc-jwks-file": "n", "oidc-ca": "o", "playground": "true",
	}
	defaults, err := Defaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range settings.Declare(&Config{}, EnvironmentPrefix).Settings {
		if f.Name == "config" {
			continue
		}
		value, ok := values[f.Name]
		if !ok {
			t.Errorf("--%s is not in this test", f.Name)
			continue
		}
		if f.Variable != "CRDEVAL_"+strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) {
			t.Errorf("--%s has the environment variable %s", f.Name, f.Variable)
		}
		if f.Help == "" || f.Group == "" {
			t.Errorf("--%s has no help or no group", f.Name)
		}
		t.Run(f.Name, func(t *testing.T) {
			path := write(t, f.Name+": "+value+"\n")
			// A certificate needs its key, and so on: what is compared is parsing.
			byFlag, _ := parse(t, "--"+f.Name+"="+value)
			byFile, errFile := parse(t, "--config", path)
			other := values[f.Name] + "0" // the flag goes before the environment
			if f.IsBool() {
				other = "false"
			}
			t.Setenv(f.Variable, value)
			byEnvironment, _ := parse(t)
			t.Setenv("CRDEVAL_CONFIG", write(t, f.Name+": "+other+"\n"))
			overFile, _ := parse(t)
			byFile.Config, overFile.Config = "", ""
			if reflect.DeepEqual(byFlag, defaults) {
				t.Errorf("--%s=%s changes nothing", f.Name, value)
			}
			if !reflect.DeepEqual(byFlag, byEnvironment) || !reflect.DeepEqual(byFlag, byFile) || !reflect.DeepEqual(byFlag, overFile) {
				t.Errorf("flag\n%+v\nenvironment\n%+v\nfile\n%+v (%v)\nenvironment over file\n%+v", byFlag, byEnvironment, byFile, errFile, overFile)
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	path := write(t, "max-batch-items: 1\nmax-in-flight: 1\ndata-dir: one\ngrpc-address: [':1', 'unix:///x,y']\nconversion-services: [a/b=c:1, d/e=f:2]\n")
	t.Setenv("CRDEVAL_MAX_IN_FLIGHT", "2")
	t.Setenv("CRDEVAL_DATA_DIR", "two")
	c, err := parse(t, "--config", path, "--data-dir", "three")
	if err != nil {
		t.Fatal(err)
	}
	if c.MaxBatchItems != 1 || c.MaxInFlight != 2 || c.DataDir != "three" || c.MaxDocumentDepth != 10000 || len(c.GRPCAddress) != 2 || c.GRPCAddress[1] != "unix:///x,y" || len(c.ConversionServices) != 2 {
		t.Errorf("%+v", c)
	}
}

func TestFilesThatAreWrong(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"unknown keys":     {"data-dir: x\nzzz: 1\ndatadir: y\n", "crdeval.yaml:2: unknown setting \"zzz\""},
		"a list as root":   {"- a\n", "crdeval.yaml:1: the settings must be a mapping of flags to values"},
		"a scalar as root": {"# settings\ndebug\n", "crdeval.yaml:2: the settings must be a mapping of flags to values"},
		"not YAML":         {"a: [\n", "crdeval.yaml: yaml: "},
		"nested":           {"grpc:\n  address: x\n", "crdeval.yaml:1: unknown setting \"grpc\""},
		"null":             {"data-dir:\n", "crdeval.yaml:1: data-dir must be a value"},
		"two documents":    {"data-dir: x\n---\ndata-dir: y\n", "more than one document"},
		"a bad value":      {"cache-bytes: lots\n", "--cache-bytes: \"lots\" is not a size: use a whole number of bytes, or a unit KiB, MiB, GiB, kB, MB, GB ("},
		"not in the enum":  {"# a store\nstore: consul\n", "crdeval.yaml:2 sets store)"},
		"itself":           {"config: other.yaml\n", "unknown setting \"config\""},
		"a duplicate key":  {"data-dir: x\ndata-dir: y\n", "crdeval.yaml:2: data-dir is set twice"},
		"no address":       {"http-address: ''\n", "--http-address is empty: give a value, or leave it out ("},
		"a list":           {"data-dir: [a, b]\n", "crdeval.yaml:1: data-dir must be a single value"},
		"a list of lists":  {"grpc-address: [[x]]\n", "crdeval.yaml:1: grpc-address must be a value or a list of values"},
	} {
		if _, err := parse(t, "--config", write(t, tc.content)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := parse(t, "--config", "/does/not/exist.yaml"); err == nil {
		t.Error("no error for a missing file")
	}
	for _, content := range []string{"", "# nothing\n", "---\n"} {
		if _, err := parse(t, "--config", write(t, content)); err != nil {
			t.Errorf("an empty file, %q: %v", content, err)
		}
	}
}

// TestOptionalCertificates: without certificates, callers need other credentials.
func TestOptionalCertificates(t *testing.T) {
	tls := []string{"--store=memory", "--tls-cert=a", "--tls-key=a"}
	for flags, want := range map[string]string{
		"--tls-client-auth=optional":                                                             "optional requires --tls-client-ca",
		"--tls-client-auth=optional --tls-client-ca=a":                                           "could do everything",
		"--tls-client-auth=maybe --tls-client-ca=a":                                              `"maybe" is not required or optional`,
		"--tls-client-auth=optional --tls-client-ca=a --auth-token-file=a":                       "",
		"--tls-client-auth=optional --tls-client-ca=a --access-file=a":                           "",
		"--tls-client-auth=required --tls-client-ca=a":                                           "",
		"--tls-client-auth=optional --tls-client-ca=a --oidc-issuer=https://a --oidc-audience=b": "",
	} {
		_, err := Defaults(append(tls, strings.Fields(flags)...)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", flags, err)
		}
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	c, err := Defaults("--store=memory")
	if err != nil {
		t.Fatal(err)
	}
	c.GRPCAddress, c.HTTPAddress, c.MetricsAddress = []string{"nowhere"}, []string{"unix://relative"}, "x"
	c.TLSClientCA = "ca.pem"
	c.MaxBatchItems, c.MaxInFlight, c.CacheBytes, c.MaxMessageBytes = 0, -1, -1, 4*settings.GiB
	c.DrainTimeout = -1
	err = c.Validate()
	for _, want := range []string{
		"--grpc-address", "--http-address", "--metrics-address", "--tls-cert", "--max-batch-items", "--max-in-flight", "--cache-bytes", "--max-message-bytes", "--drain-timeout",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in %v", want, err)
		}
	}
	c.EtcdEndpoints, c.CRDsCatalog = []string{"http://a:1"}, "No Label"
	err = c.Validate()
	for _, want := range []string{"--etcd-endpoints: needs --store=etcd, but the store is memory", "--crds-catalog: \"No Label\""} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in %v", want, err)
		}
	}
	c = Config{Store: StoreBolt}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "--data-dir") || !strings.Contains(err.Error(), "--grpc-address") {
		t.Errorf("got %v", err)
	}
}

// Values that cannot be parsed and unknown settings are reported together with invalid values, wherever they come from.
func TestUnreadableValuesAtOnce(t *testing.T) {
	t.Setenv("CRDEVAL_DRAIN_TIMEOUT", "soon")
	path := write(t, "log-level: loud\nmax-in-flight: 5\nstor: memory\ndata-dir: {}\n")
	_, err := parse(t, "--config", path, "--cache-bytes=lots", "--max-batch-items=x", "--max-alias-factor=0", "--store=shelf", "--log-format=xml", "--max-wait=7s")
	for _, want := range []string{
		`--drain-timeout: "soon" is not a duration: use numbers with units, such as 500ms, 20s or 1m30s (set by the variable CRDEVAL_DRAIN_TIMEOUT)`,
		`--log-level: "loud" is not debug, info, warn or error (` + path + `:1 sets log-level)`, `--cache-bytes: "lots" is not a size`, `--max-batch-items: `, `--max-alias-factor: 0 is not between`, `--store: "shelf" is not bolt`, `--log-format: "xml" is not text or json`,
		path + `:3: unknown setting "stor"`, path + `:4: data-dir must be a value`,
	} {
		if strings.Count(fmt.Sprint(err), want) != 1 {
			t.Errorf("not one word of %s in %v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "--max-batch-items: 0") {
		t.Errorf("a value that could not be parsed is validated: %v", err)
	}
}

func TestEtcdSettings(t *testing.T) {
	for name, tc := range map[string]struct {
		flags []string
		want  []string // parts of the error; empty: no error
	}{
		"plain":       {[]string{"--etcd-endpoints=http://a:2379,http://b:2379"}, nil},
		"TLS":         {[]string{"--etcd-endpoints=https://a:2379", "--etcd-ca=x", "--etcd-cert=y", "--etcd-key=z", "--etcd-user=u", "--etcd-password-file=p"}, nil},
		"no endpoint": {nil, []string{"--etcd-endpoints: --store=etcd needs at least one"}},
		"everything at once": {
			[]string{"--etcd-endpoints=a:2379,http://b,https://c:2379,http://d:2379/x", "--etcd-prefix=/", "--etcd-cert=y", "--etcd-user=u"},
			[]string{`"a:2379" is not a URL like`, `"http://b" is not`, `"http://d:2379/x" is not`, "--etcd-prefix", "--etcd-cert: --etcd-cert and --etcd-key must", "--etcd-user: --etcd-user and --etcd-password-file must"},
		},
		"schemes": {[]string{"--etcd-endpoints=http://a:1,https://b:2", "--etcd-ca=x"}, []string{"http and https cannot be mixed", "--etcd-ca: needs https"}},
	} {
		_, err := Defaults(append([]string{"--store=etcd"}, tc.flags...)...)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no word of %s in %v", name, want, err)
			}
		}
		if len(tc.want) == 0 && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What files hold is read at the start, all of it.
func TestEtcdFiles(t *testing.T) {
	empty := write(t, "\n")
	c, err := Defaults("--store=etcd", "--etcd-endpoints=https://a:2379", "--etcd-ca="+empty, "--etcd-cert="+empty, "--etcd-key="+empty, "--etcd-user=u", "--etcd-password-file="+empty)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.etcd()
	for _, want := range []string{"--etcd-ca: " + empty + " has no PEM", "--etcd-cert, --etcd-key", "--etcd-password-file: " + empty + " has no password"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no word of %s in %v", want, err)
		}
	}
	c.EtcdCA, c.EtcdCert, c.EtcdKey, c.EtcdPasswordFile = "", "", "", write(t, "s3cret\n")
	if o, err := c.etcd(); err != nil || o.Password != "s3cret" || o.TLS != nil {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestDerivedLimits covers the limits that derive from --memory, and explicit ones.
func TestDerivedLimits(t *testing.T) {
	for flags, want := range map[string][5]settings.Bytes{ // cache, message, ledger, connections, watches
		"--memory=64MiB":                         {16 * settings.MiB, 4 * settings.MiB, 18 * settings.MiB, 128, 256},
		"--memory=512MiB":                        {128 * settings.MiB, 32 * settings.MiB, 144 * settings.MiB, 1024, 2048},
		"--memory=16GiB":                         {256 * settings.MiB, 64 * settings.MiB, 6048 * settings.MiB, maxConnections, maxWatches},
		"--memory=512MiB --cache-bytes=32MiB":    {32 * settings.MiB, 32 * settings.MiB, 180 * settings.MiB, 1024, 2048},
		"--memory=1GiB --max-message-bytes=8MiB": {256 * settings.MiB, 8 * settings.MiB, 288 * settings.MiB, 2048, 4096},
	} {
		c, err := Defaults(strings.Fields(flags)...)
		if err != nil || c.Validate() != nil {
			t.Fatal(flags, err, c.Validate())
		}
		c = c.withMemory()
		got := [5]settings.Bytes{c.CacheBytes, c.MaxMessageBytes, settings.Bytes(c.callBytes()), settings.Bytes(c.maxConnections()), settings.Bytes(c.limits().MaxWatches)}
		if got != want {
			t.Errorf("%s: %v, want %v", flags, got, want)
		}
	}
	if c, _ := Defaults(); c.withMemory().Memory < 64*settings.MiB {
		t.Errorf("the default of --memory is %v", c.withMemory().Memory)
	}
	for flags, want := range map[string]string{
		"--memory=63MiB":                       "--memory: 63MiB is less than 64MiB",
		"--memory=512MiB --cache-bytes=385MiB": "--cache-bytes: 385MiB exceeds three quarters of --memory=512MiB",
		"--cache-bytes=1000000GiB":             "--cache-bytes: 1000000GiB exceeds three quarters of --memory=", // of the machine
	} {
		c, err := Defaults(strings.Fields(flags)...)
		if err == nil {
			err = c.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", flags, err, want)
		}
	}
}

// TestSmallMemory: a default of --memory that is too small is an error, as a small --memory.
func TestSmallMemory(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "48MiB")
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(48 << 20))
	c, err := Defaults()
	if err == nil {
		err = c.Validate()
	}
	const want = "--memory: the default here is 60MiB, which is less than 64MiB: "
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := Defaults("--memory=64MiB"); err != nil {
		t.Error(err)
	}
}

// TestStreamSlots: streams leave most of the places for calls to others, and there is one at least.
func TestStreamSlots(t *testing.T) {
	for inFlight, want := range map[int]int{256: 64, 1000: 64, 40: 10, 3: 1, 0: 0} {
		if c := (Config{MaxInFlight: inFlight}); c.limits().MaxStreams != want {
			t.Errorf("%d calls in flight: %d streams, want %d", inFlight, c.limits().MaxStreams, want)
		}
	}
}

func TestHTTPOff(t *testing.T) {
	c, err := parse(t, "--http-address=off")
	if err != nil || len(c.httpAddresses()) != 0 {
		t.Errorf("%v, %v", c.httpAddresses(), err)
	}
}
