{{/* Names of 63 characters at most, as Kubernetes wants them. */}}
{{- define "steadfast.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "steadfast.selector" -}}
app.kubernetes.io/name: steadfast
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "steadfast.labels" -}}
{{ include "steadfast.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | quote }}
{{- end -}}

{{- define "steadfast.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- .Values.serviceAccount.name | default (include "steadfast.name" .) -}}
{{- else -}}
{{- .Values.serviceAccount.name | default "default" -}}
{{- end -}}
{{- end -}}

{{/* The secret with the first API key. */}}
{{- define "steadfast.adminSecret" -}}
{{- .Values.adminKey.existingSecret | default (printf "%s-admin" (include "steadfast.name" .)) -}}
{{- end -}}
