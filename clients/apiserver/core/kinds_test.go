package core_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/crdeval/crdeval/clients/apiserver/apiservertest"
)

// TestKinds writes objects of kinds that are only stored.
func TestKinds(t *testing.T) {
	ctx := t.Context()
	begin := time.Now()
	client, err := kubernetes.NewForConfig(apiservertest.StartWith(t, apiservertest.Options{Kinds: true}))
	check(t, err)
	t.Logf("ready after %v", time.Since(begin))

	secrets := client.CoreV1().Secrets("default")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"a": "b"}}
	secret, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	check(t, err)
	if string(secret.Data["a"]) != "b" || secret.StringData != nil || secret.Type != corev1.SecretTypeOpaque {
		t.Errorf("secret %+v", secret)
	}
	if list, err := secrets.List(ctx, metav1.ListOptions{FieldSelector: "type=other"}); err != nil || len(list.Items) != 0 {
		t.Errorf("secrets of another type: %v, %v", list.Items, err)
	}
	_, err = secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "S"}}, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("an invalid name: %v", err)
	}

	deployments := client.AppsV1().Deployments("default")
	container := func(name string, ports ...int32) *coreapply.ContainerApplyConfiguration {
		c := coreapply.Container().WithName(name).WithImage("image")
		for _, port := range ports {
			c.WithPorts(coreapply.ContainerPort().WithContainerPort(port),
				coreapply.ContainerPort().WithContainerPort(port).WithProtocol(corev1.ProtocolUDP))
		}
		return c
	}
	apply := func(manager string, containers ...*coreapply.ContainerApplyConfiguration) *appsv1.Deployment {
		t.Helper()
		labels := map[string]string{"app": "d"}
		template := coreapply.PodTemplateSpec().WithLabels(labels).WithSpec(coreapply.PodSpec().WithContainers(containers...))
		d := appsapply.Deployment("d", "default").WithSpec(appsapply.DeploymentSpec().
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).WithTemplate(template))
		got, err := deployments.Apply(ctx, d, metav1.ApplyOptions{FieldManager: manager})
		check(t, err)
		return got
	}
	apply("one", container("a", 80))
	d := apply("two", container("b"))
	if len(d.Spec.Template.Spec.Containers) != 2 || len(d.Spec.Template.Spec.Containers[0].Ports) != 2 || d.Generation != 2 {
		t.Errorf("applied %+v", d)
	}
	d.Status.Replicas, d.Spec.Paused = 3, true
	d, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	check(t, err)
	if d.Status.Replicas != 3 || d.Spec.Paused || d.Generation != 2 {
		t.Errorf("after a write of the status: %+v", d)
	}
	d.Status.Replicas, d.Labels = 4, map[string]string{"x": "y"}
	d, err = deployments.Update(ctx, d, metav1.UpdateOptions{})
	check(t, err)
	if d.Status.Replicas != 3 || d.Labels["x"] != "y" || d.Generation != 2 {
		t.Errorf("after a write of labels: %+v", d)
	}

	pods := client.CoreV1().Pods("default")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	pod, err = pods.Create(ctx, pod, metav1.CreateOptions{})
	check(t, err)
	if pod.Status.Phase != corev1.PodPending {
		t.Errorf("status of a new pod: %+v", pod.Status)
	}
	patch := []byte(`{"spec": {"containers": [{"name": "c", "image": "j"}]}}`)
	pod, err = pods.Patch(ctx, "p", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	check(t, err)
	if len(pod.Spec.Containers) != 1 || pod.Spec.Containers[0].Image != "j" || pod.Generation != 2 {
		t.Errorf("patched %+v", pod)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Phase: corev1.NodeRunning}}
	node, err = client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	check(t, err)
	taints := node.Spec.Taints
	if len(taints) != 1 || taints[0].Key != corev1.TaintNodeNotReady || node.Status.Phase != corev1.NodeRunning {
		t.Errorf("node %+v", node)
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{}); err != nil {
		t.Errorf("namespace %s: %v", metav1.NamespaceSystem, err)
	}
}

// TestLeaderElection lets two candidates compete for a lease.
func TestLeaderElection(t *testing.T) {
	client, err := kubernetes.NewForConfig(apiservertest.StartWith(t, apiservertest.Options{Kinds: true}))
	check(t, err)
	leaders := make(chan string, 2)
	campaign := func(ctx context.Context, name string) (stopped chan struct{}) {
		lock := &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "manager"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		}
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 100 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leaders <- name }, OnStoppedLeading: func() {},
			},
		})
		check(t, err)
		stopped = make(chan struct{})
		go func() { defer close(stopped); elector.Run(ctx) }()
		return stopped
	}
	first, stopFirst := context.WithCancel(t.Context())
	second, stopSecond := context.WithCancel(t.Context())
	stoppedFirst := campaign(first, "first")
	if got := <-leaders; got != "first" {
		t.Errorf("the leader is %s", got)
	}
	stoppedSecond := campaign(second, "second")
	stopFirst()
	<-stoppedFirst
	if got := <-leaders; got != "second" {
		t.Errorf("the next leader is %s", got)
	}
	stopSecond()
	<-stoppedSecond
}
