{{- define "strictcall.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "strictcall.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "strictcall.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "strictcall.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{- define "strictcall.selectorLabels" -}}
app.kubernetes.io/name: {{ include "strictcall.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "strictcall.labels" -}}
{{ include "strictcall.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "strictcall.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default (ternary "gpu" "cpu" (gt (int .Values.gpu.count) 0))) -}}
{{- end }}

{{- /* The Secret with the API keys; empty where the server is open. */ -}}
{{- define "strictcall.keySecret" -}}
{{- if .Values.apiKeys.keys -}}
{{- include "strictcall.fullname" . }}-keys
{{- else -}}
{{- .Values.apiKeys.existingSecret -}}
{{- end -}}
{{- end }}

{{- define "strictcall.claim" -}}
{{- .Values.cache.existingClaim | default (printf "%s-cache" (include "strictcall.fullname" .)) -}}
{{- end }}

{{- define "strictcall.tensorParallelSize" -}}
{{- .Values.tensorParallelSize | default (max 1 .Values.gpu.count) -}}
{{- end }}

{{- /* A value as a variable spells it. Helm reads every number as a float, and would write 8e+06. */ -}}
{{- define "strictcall.text" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if kindIs "float64" . -}}
{{- int64 . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end }}
