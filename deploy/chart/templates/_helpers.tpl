{{- define "patchbay.selector" -}}
app.kubernetes.io/name: patchbay
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "patchbay.server" -}}
{{ include "patchbay.selector" . }}
app.kubernetes.io/component: server
{{- end }}

{{- define "patchbay.labels" -}}
{{ include "patchbay.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "patchbay.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: { name: {{ .Values.existingSecret }} }
env:
  - { name: PUBLIC_URL, value: {{ .Values.publicUrl | quote }} }
  - { name: TRUST_PROXY, value: "true" }
  {{- range $name, $value := .Values.env }}
  - { name: {{ $name }}, value: {{ $value | quote }} }
  {{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "patchbay.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end }}
