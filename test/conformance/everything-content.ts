import type {
  CallToolResult,
  GetPromptResult,
  Prompt,
  ReadResourceResult,
  Resource,
  Tool,
} from "@modelcontextprotocol/server";

/** One red pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
/** A WAV file without samples. */
export const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

const NO_ARGUMENTS: Tool["inputSchema"] = { type: "object", properties: {} };

function tool(name: string, description: string, inputSchema: Tool["inputSchema"] = NO_ARGUMENTS): Tool {
  return { name, description, inputSchema };
}

const ONE_TEXT = (name: string): Tool["inputSchema"] => ({
  type: "object",
  properties: { [name]: { type: "string" } },
  required: [name],
});

/** The tools that the suite calls, with their input schemas. */
export const TOOLS: readonly Tool[] = [
  tool("test_simple_text", "Answers with a text."),
  tool("test_image_content", "Answers with an image."),
  tool("test_audio_content", "Answers with a sound."),
  tool("test_embedded_resource", "Answers with a resource."),
  tool("test_multiple_content_types", "Answers with a text, an image and a resource."),
  tool("test_tool_with_logging", "Says three log messages on the way."),
  tool("test_tool_with_progress", "Tells of progress three times."),
  tool("test_error_handling", "Fails."),
  tool("test_sampling", "Asks the client's model.", ONE_TEXT("prompt")),
  tool("test_elicitation", "Asks the person.", ONE_TEXT("message")),
  tool("test_elicitation_sep1034_defaults", "Asks the person, with defaults."),
  tool("test_elicitation_sep1330_enums", "Asks the person to choose."),
  tool("test_missing_capability", "Needs a client that can sample."),
  tool("test_streaming_elicitation", "Asks the person while it streams."),
  tool("test_logging_tool", "Logs a message if the client has enabled logging."),
  tool("test_trigger_tool_change", "Changes the list of tools."),
  tool("test_trigger_prompt_change", "Changes the list of prompts."),
  tool("test_header_mirror", "Takes an argument that a header mirrors.", {
    type: "object",
    properties: { region: { type: "string", "x-mcp-header": "Region" } },
    required: ["region"],
  }),
  tool("json_schema_2020_12_tool", "Has a schema with what 2020-12 brought.", {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: {
        $anchor: "addressDef",
        type: "object",
        properties: { street: { type: "string" }, city: { type: "string" } },
      },
    },
    properties: {
      name: { type: "string" },
      address: { $ref: "#/$defs/address" },
      contactMethod: { type: "string", enum: ["phone", "email"] },
      phone: { type: "string" },
      email: { type: "string" },
    },
    allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
    if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
    then: { required: ["phone"] },
    else: { required: ["email"] },
    additionalProperties: false,
  }),
];

const embedded = (uri: string, mimeType: string, text: string) =>
  ({ type: "resource", resource: { uri, mimeType, text } }) as const;
const text = (words: string) => ({ type: "text", text: words }) as const;
const image = { type: "image", data: PNG, mimeType: "image/png" } as const;

/** The results of tools that only return content. */
export const ANSWERS: ReadonlyMap<string, CallToolResult> = new Map<string, CallToolResult>([
  ["test_simple_text", { content: [text("This is a simple text response for testing.")] }],
  ["test_image_content", { content: [image] }],
  ["test_audio_content", { content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }],
  [
    "test_embedded_resource",
    { content: [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")] },
  ],
  [
    "test_multiple_content_types",
    {
      content: [
        text("Multiple content types test:"),
        image,
        embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
      ],
    },
  ],
  ["test_error_handling", { isError: true, content: [text("This tool intentionally returns an error for testing")] }],
  ["test_header_mirror", { content: [text("The header was right.")] }],
  ["json_schema_2020_12_tool", { content: [text("The schema was kept.")] }],
]);

/** The resources with fixed addresses. */
export const RESOURCES: readonly Resource[] = [
  { uri: "test://static-text", name: "Static text", description: "A text.", mimeType: "text/plain" },
  { uri: "test://static-binary", name: "Static binary", description: "An image.", mimeType: "image/png" },
  { uri: "test://watched-resource", name: "Watched", description: "A text that may change.", mimeType: "text/plain" },
];

/** Returns the resource at an address, or undefined. */
export function readResource(uri: string): ReadResourceResult | undefined {
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
  if (id !== undefined) {
    const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: "application/json", text: data }] };
  }
  switch (uri) {
    case "test://static-text":
      return { contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }] };
    case "test://static-binary":
      return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
    case "test://watched-resource":
      return { contents: [{ uri, mimeType: "text/plain", text: "Watched resource content" }] };
    default:
      return undefined;
  }
}

export const PROMPTS: readonly Prompt[] = [
  { name: "test_simple_prompt", description: "Takes nothing." },
  {
    name: "test_prompt_with_arguments",
    description: "Takes two arguments.",
    arguments: [
      { name: "arg1", description: "First test argument", required: true },
      { name: "arg2", description: "Second test argument", required: true },
    ],
  },
  {
    name: "test_prompt_with_embedded_resource",
    description: "Takes the address of a resource.",
    arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
  },
  { name: "test_prompt_with_image", description: "Holds an image." },
];

/** Returns a prompt with its arguments, or undefined for an unknown name. */
export function getPrompt(name: string, args: Readonly<Record<string, string>> = {}): GetPromptResult | undefined {
  const user = (...contents: GetPromptResult["messages"][number]["content"][]): GetPromptResult => ({
    messages: contents.map((content) => ({ role: "user", content })),
  });
  switch (name) {
    case "test_simple_prompt":
      return user(text("This is a simple prompt for testing."));
    case "test_prompt_with_arguments":
      return user(text(`Prompt with arguments: arg1='${args["arg1"]}', arg2='${args["arg2"]}'`));
    case "test_prompt_with_embedded_resource":
      return user(
        embedded(args["resourceUri"] ?? "", "text/plain", "Embedded resource content for testing."),
        text("Please process the embedded resource above."),
      );
    case "test_prompt_with_image":
      return user(image, text("Please analyze the image above."));
    default:
      return undefined;
  }
}
