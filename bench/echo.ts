/** Twenty tools with `echo` first, equal in all compared servers. */
export const ECHO_TOOLS = Array.from({ length: 20 }, (_, index) => ({
  name: index === 0 ? "echo" : `tool_${index}`,
  description: `Echoes its message, number ${index}.`,
  inputSchema: {
    type: "object" as const,
    properties: {
      message: { type: "string", description: "What to say." },
      times: { type: "integer", minimum: 1 },
    },
    required: ["message"],
  },
  annotations: { readOnlyHint: index % 2 === 0 },
}));

/** The arguments of the calls. */
export interface EchoArguments {
  readonly message?: unknown;
}

/** The result of the calls. */
export function echo(args: EchoArguments | undefined): {
  content: { type: "text"; text: string }[];
} {
  return { content: [{ type: "text", text: `Echo: ${String(args?.message ?? "")}` }] };
}
