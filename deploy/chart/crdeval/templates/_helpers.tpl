{{- define "crdeval.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "crdeval.selector" -}}
app.kubernetes.io/name: crdeval
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "crdeval.labels" -}}
{{ include "crdeval.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "crdeval.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (ternary (include "crdeval.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{/* The secret with the certificate of the server; empty without TLS. */}}
{{- define "crdeval.tlsSecret" -}}
{{ .Values.tls.secret | default (ternary (printf "%s-tls" (include "crdeval.name" .)) "" .Values.tls.certManager) }}
{{- end }}

{{/* Values that the schema cannot check. */}}
{{- define "crdeval.check" -}}
{{- $v := .Values }}
{{- if and (eq $v.mode "service") (eq $v.store.type "bolt") (or $v.autoscaling.enabled (ne (int $v.replicas) 1)) }}
{{- fail "store.type bolt allows one replica: set replicas to 1 and autoscaling.enabled to false, or use etcd" }}
{{- end }}
{{- if and (eq $v.store.type "etcd") $v.networkPolicy.enabled (not $v.networkPolicy.egress) }}
{{- fail "networkPolicy.egress must allow connections to etcd" }}
{{- end }}
{{- if and $v.tls.clientCASecret (not (include "crdeval.tlsSecret" .)) }}
{{- fail "tls.clientCASecret requires TLS: set tls.certManager or tls.secret" }}
{{- end }}
{{- if and $v.autoscaling.enabled (gt (int $v.autoscaling.minReplicas) (int $v.autoscaling.maxReplicas)) }}
{{- fail "autoscaling.minReplicas exceeds autoscaling.maxReplicas" }}
{{- end }}
{{- if and $v.webhooks.enabled (not (include "crdeval.tlsSecret" .)) }}
{{- fail "API servers call webhooks only over TLS: set tls.certManager or tls.secret" }}
{{- end }}
{{- if and $v.webhooks.enabled (not $v.tls.certManager) (not $v.webhooks.caBundle) }}
{{- fail "webhooks.caBundle is required without tls.certManager" }}
{{- end }}
{{- $m := $v.monitoring }}
{{- range $name, $labels := dict "podLabels" $v.podLabels "monitoring.podMonitor.labels" $m.podMonitor.labels "monitoring.rules.labels" $m.rules.labels "monitoring.dashboard.labels" $m.dashboard.labels }}
{{- range $key, $_ := fromYaml (include (ternary "crdeval.selector" "crdeval.labels" (eq $name "podLabels")) $) }}
{{- if hasKey ($labels | default dict) $key }}
{{- fail (printf "%s cannot have %s, which the chart sets" $name $key) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Directories of CRDs: the one of crds.files, and one for each of crds.configMaps. */}}
{{- define "crdeval.directories" -}}
{{- $all := list }}
{{- if .Values.crds.files }}{{ $all = append $all "/crds/files" }}{{ end }}
{{- range .Values.crds.configMaps }}{{ $all = append $all (printf "/crds/%s" .) }}{{ end }}
{{- join "," $all }}
{{- end }}

{{/* The arguments of crdeval. Those of settings come last. */}}
{{- define "crdeval.args" -}}
{{- $v := .Values }}
- serve
- --metrics-address=:9464
{{- if eq $v.mode "sidecar" }}
- --grpc-address=unix:///run/crdeval/grpc.sock
- --http-address=unix:///run/crdeval/http.sock
{{- else }}
- --grpc-address=:9090
- --http-address=:8080
- --drain-delay={{ $v.drain.delaySeconds }}s
{{- end }}
- --drain-timeout={{ $v.drain.timeoutSeconds }}s
- --log-format=json
- --store={{ $v.store.type }}
{{- if eq $v.store.type "bolt" }}
- --data-dir=/data
{{- end }}
{{- if eq $v.store.type "etcd" }}
- {{ printf "--etcd-endpoints=%s" (join "," $v.store.etcd.endpoints) | quote }}
- {{ printf "--etcd-prefix=%s" $v.store.etcd.prefix | quote }}
{{- if $v.store.etcd.tlsSecret }}
- --etcd-ca=/etcd-tls/ca.crt
{{- if $v.store.etcd.hasClientCertificate }}
- --etcd-cert=/etcd-tls/tls.crt
- --etcd-key=/etcd-tls/tls.key
{{- end }}
{{- end }}
{{- if $v.store.etcd.user }}
- {{ printf "--etcd-user=%s" $v.store.etcd.user | quote }}
- --etcd-password-file=/etcd-password/password
{{- end }}
{{- end }}
{{- with include "crdeval.directories" . }}
- --crds={{ . }}
- --crds-catalog={{ $v.crds.catalog }}
{{- end }}
{{- if include "crdeval.tlsSecret" . }}
- --tls-cert=/tls/tls.crt
- --tls-key=/tls/tls.key
{{- end }}
{{- if $v.tls.clientCASecret }}
- --tls-client-ca=/client-ca/ca.crt
{{- end }}
{{- if $v.auth.tokenSecret }}
- --auth-token-file=/auth/tokens
{{- end }}
{{- if $v.auth.accessSecret }}
- --access-file=/access/access.yaml
{{- end }}
{{- range $name, $value := $v.settings }}
- {{ printf "--%s=%v" $name (ternary (int64 $value) $value (kindIs "float64" $value)) | quote }}
{{- end }}
{{- end }}

{{/* The mounts and the volumes have the same conditions. */}}
{{- define "crdeval.mounts" -}}
{{- $v := .Values }}
{{- if eq $v.mode "sidecar" }}
- {name: crdeval, mountPath: /run/crdeval}
{{- end }}
{{- if eq $v.store.type "bolt" }}
- {name: crdeval-data, mountPath: /data}
{{- end }}
{{- if and (eq $v.store.type "etcd") $v.store.etcd.tlsSecret }}
- {name: crdeval-etcd-tls, mountPath: /etcd-tls, readOnly: true}
{{- end }}
{{- if and (eq $v.store.type "etcd") $v.store.etcd.user }}
- {name: crdeval-etcd-password, mountPath: /etcd-password, readOnly: true}
{{- end }}
{{- if $v.crds.files }}
- {name: crdeval-crds, mountPath: /crds/files, readOnly: true}
{{- end }}
{{- range $i, $name := $v.crds.configMaps }}
- {name: crdeval-crds-{{ $i }}, mountPath: /crds/{{ $name }}, readOnly: true}
{{- end }}
{{- if include "crdeval.tlsSecret" . }}
- {name: crdeval-tls, mountPath: /tls, readOnly: true}
{{- end }}
{{- if $v.tls.clientCASecret }}
- {name: crdeval-client-ca, mountPath: /client-ca, readOnly: true}
{{- end }}
{{- if $v.auth.tokenSecret }}
- {name: crdeval-tokens, mountPath: /auth, readOnly: true}
{{- end }}
{{- if $v.auth.accessSecret }}
- {name: crdeval-access, mountPath: /access, readOnly: true}
{{- end }}
{{- end }}

{{- define "crdeval.volumes" -}}
{{- $v := .Values }}
{{- if eq $v.mode "sidecar" }}
- name: crdeval
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
{{- end }}
{{- if eq $v.store.type "bolt" }}
- name: crdeval-data
{{- if eq $v.mode "sidecar" }}
  emptyDir: {sizeLimit: {{ $v.store.bolt.size }}}
{{- else }}
  persistentVolumeClaim: {claimName: {{ $v.store.bolt.existingClaim | default (include "crdeval.name" .) | quote }}}
{{- end }}
{{- end }}
{{- if and (eq $v.store.type "etcd") $v.store.etcd.tlsSecret }}
- name: crdeval-etcd-tls
  secret: {secretName: {{ $v.store.etcd.tlsSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- if and (eq $v.store.type "etcd") $v.store.etcd.user }}
- name: crdeval-etcd-password
  secret: {secretName: {{ $v.store.etcd.passwordSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- if $v.crds.files }}
- name: crdeval-crds
  configMap: {name: {{ include "crdeval.name" . }}-crds}
{{- end }}
{{- range $i, $name := $v.crds.configMaps }}
- name: crdeval-crds-{{ $i }}
  configMap: {name: {{ $name | quote }}}
{{- end }}
{{- with include "crdeval.tlsSecret" . }}
- name: crdeval-tls
  secret: {secretName: {{ . | quote }}, defaultMode: 0440}
{{- end }}
{{- if $v.tls.clientCASecret }}
- name: crdeval-client-ca
  secret: {secretName: {{ $v.tls.clientCASecret | quote }}}
{{- end }}
{{- if $v.auth.tokenSecret }}
- name: crdeval-tokens
  secret: {secretName: {{ $v.auth.tokenSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- if $v.auth.accessSecret }}
- name: crdeval-access
  secret: {secretName: {{ $v.auth.accessSecret | quote }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* The container of crdeval, in its own pods and as a sidecar. */}}
{{- define "crdeval.container" -}}
- name: crdeval
  image: {{ printf "%s:%s" .Values.image.repository .Values.image.tag | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if eq .Values.mode "sidecar" }}
  restartPolicy: Always # a native sidecar: it starts before your containers and ends after them
{{- end }}
  args:
    {{- include "crdeval.args" . | nindent 4 }}
  ports:
{{- if eq .Values.mode "service" }}
    - {name: grpc, containerPort: 9090}
    - {name: http, containerPort: 8080}
{{- end }}
    - {name: metrics, containerPort: 9464}
  startupProbe:
    httpGet: {path: /readyz, port: metrics}
    periodSeconds: 1
    failureThreshold: 120
  readinessProbe:
    httpGet: {path: /readyz, port: metrics}
    periodSeconds: 2
  livenessProbe:
    httpGet: {path: /healthz, port: metrics}
  resources:
    {{- toYaml .Values.resources | nindent 4 }}
  securityContext:
    allowPrivilegeEscalation: false
    readOnlyRootFilesystem: true
    runAsNonRoot: true
    runAsUser: 65532
    capabilities: {drop: [ALL]}
{{- with include "crdeval.mounts" . }}
  volumeMounts:
    {{- . | nindent 4 }}
{{- end }}
{{- end }}
