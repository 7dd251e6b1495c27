{{- define "cairn.labels" -}}
app.kubernetes.io/name: cairn
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cairn.selector" -}}
app.kubernetes.io/name: cairn
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cairn.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "cairn.secret" -}}
{{ .Values.tokens.existingSecret | default (printf "%s-tokens" .Release.Name) }}
{{- end }}

{{- define "cairn.store" -}}
- name: CAIRN_STORE
  {{- if .Values.store.existingSecret }}
  valueFrom:
    secretKeyRef:
      name: {{ .Values.store.existingSecret }}
      key: {{ .Values.store.key }}
  {{- else }}
  value: {{ .Values.store.name | quote }}
  {{- end }}
{{- end }}

{{- define "cairn.uploads" -}}
{{ ternary "/var/lib/cairn-uploads" "/var/lib/cairn/uploads" .Values.symbols.volume.enabled }}
{{- end }}

{{- define "cairn.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}
