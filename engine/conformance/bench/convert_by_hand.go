package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// handWritten is the handler of a webhook as projects write it: Go structs for each version, and encoding/json.
func handWritten(convert func(raw []byte) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var review apiextensionsv1.ConversionReview
		if err := json.Unmarshal(body, &review); err != nil || review.Request == nil {
			http.Error(w, fmt.Sprint("not a ConversionReview: ", err), http.StatusBadRequest)
			return
		}
		response := &apiextensionsv1.ConversionResponse{UID: review.Request.UID, Result: metav1.Status{Status: metav1.StatusSuccess}}
		for _, o := range review.Request.Objects {
			converted, err := convert(o.Raw)
			if err != nil {
				response.ConvertedObjects, response.Result = nil, metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}
				break
			}
			response.ConvertedObjects = append(response.ConvertedObjects, runtime.RawExtension{Raw: converted})
		}
		answer, err := json.Marshal(&apiextensionsv1.ConversionReview{TypeMeta: review.TypeMeta, Response: response})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // the client has the error
	}
}

// convertTyped decodes an object, converts it and encodes it.
func convertTyped[From, To any](raw []byte, convert func(*From, *To) error) ([]byte, error) {
	var from From
	if err := json.Unmarshal(raw, &from); err != nil {
		return nil, err
	}
	var to To
	if err := convert(&from, &to); err != nil {
		return nil, err
	}
	return json.Marshal(&to)
}

type cronTabV1beta1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	HostPort          string `json:"hostPort,omitempty"`
}

type cronTabV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Host              string `json:"host,omitempty"`
	Port              string `json:"port,omitempty"`
}

func cronTabByHand(raw []byte) ([]byte, error) {
	return convertTyped(raw, func(from *cronTabV1beta1, to *cronTabV1) error {
		to.TypeMeta, to.ObjectMeta = from.TypeMeta, from.ObjectMeta
		to.APIVersion = "example.com/v1"
		var found bool
		if to.Host, to.Port, found = strings.Cut(from.HostPort, ":"); !found {
			return fmt.Errorf("hostPort is %q", from.HostPort)
		}
		return nil
	})
}

type workloadV1beta1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Description string `json:"description,omitempty"`
		Host        string `json:"host,omitempty"`
		Address     string `json:"address,omitempty"`
		Mode        string `json:"mode,omitempty"`
		Legacy      string `json:"legacy,omitempty"`
		Ports       []struct {
			Name       string `json:"name"`
			portFields `json:",inline"`
		} `json:"ports,omitempty"`
		Containers []struct {
			Name    string   `json:"name,omitempty"`
			Image   string   `json:"image,omitempty"`
			Command []string `json:"command,omitempty"`
			Env     []struct {
				Name  string `json:"name,omitempty"`
				Value string `json:"value,omitempty"`
			} `json:"env,omitempty"`
		} `json:"containers,omitempty"`
	} `json:"spec"`
	Status workloadStatus `json:"status"`
}

type portFields struct {
	Port     int64  `json:"port,omitempty"`
	Protocol string `json:"protocol,omitempty"`
}

type workloadStatus struct {
	Ready int64  `json:"ready,omitempty"`
	Phase string `json:"phase,omitempty"`
}

type workloadV1 struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              workloadV1Spec `json:"spec"`
	Status            workloadStatus `json:"status"`
}

type workloadV1Spec struct {
	Description string `json:"description,omitempty"`
	Endpoint    struct {
		Host string `json:"host,omitempty"`
	} `json:"endpoint"`
	HostName    string                `json:"hostName,omitempty"`
	Port        int64                 `json:"port,omitempty"`
	Mode        string                `json:"mode,omitempty"`
	PortsByName map[string]portFields `json:"portsByName,omitempty"`
	Containers  []containerV1         `json:"containers,omitempty"`
}

type containerV1 struct {
	Name       string   `json:"name,omitempty"`
	Image      string   `json:"image,omitempty"`
	Entrypoint []string `json:"entrypoint,omitempty"`
	Env        []envV1  `json:"env,omitempty"`
}

type envV1 struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text,omitempty"`
}

func workloadByHand(raw []byte) ([]byte, error) {
	return convertTyped(raw, func(from *workloadV1beta1, to *workloadV1) error {
		to.TypeMeta, to.ObjectMeta, to.Status = from.TypeMeta, from.ObjectMeta, from.Status
		to.APIVersion = "example.com/v1"
		s := &to.Spec
		s.Description, s.Endpoint.Host, s.Mode = from.Spec.Description, from.Spec.Host, from.Spec.Mode
		if mode, known := map[string]string{"fast": "Fast", "slow": "Slow"}[s.Mode]; known {
			s.Mode = mode
		}
		var port string
		s.HostName, port, _ = strings.Cut(from.Spec.Address, ":")
		var err error
		if s.Port, err = strconv.ParseInt(port, 10, 64); err != nil {
			return err
		}
		s.PortsByName = make(map[string]portFields, len(from.Spec.Ports))
		for _, p := range from.Spec.Ports {
			s.PortsByName[p.Name] = p.portFields
		}
		for _, c := range from.Spec.Containers {
			out := containerV1{Name: c.Name, Image: c.Image, Entrypoint: c.Command, Env: make([]envV1, len(c.Env))}
			for i, e := range c.Env {
				out.Env[i] = envV1{Name: e.Name, Text: e.Value}
			}
			s.Containers = append(s.Containers, out)
		}
		return nil
	})
}
