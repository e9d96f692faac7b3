export const OUTCOMES = {
  ok: { color: "teal", label: "Worked" },
  tool_error: { color: "orange", label: "Tool failed" },
  upstream_error: { color: "red", label: "Third party failed" },
  refused: { color: "gray", label: "Refused" },
  cancelled: { color: "gray", label: "Canceled" },
} as const;
