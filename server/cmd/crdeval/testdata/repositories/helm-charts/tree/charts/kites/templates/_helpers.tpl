{{- define "kites.name" }}{{ .Release.Name }}{{ end }}
