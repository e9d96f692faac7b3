import { Alert, Anchor, Code, Image, Stack, Text } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";
import { JsonTree } from "../../parts/json-tree.tsx";

type Block = Readonly<Record<string, unknown>>;

/** Image types that a browser can show; others are offered as files. */
const PICTURE = /^image\/(png|jpeg|gif|webp|avif)$/;

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function TextBlock({ text }: { readonly text: string }) {
  const json = /^\s*[[{]/.test(text) ? parseJson(text) : undefined;
  if (json !== undefined) return <JsonTree value={json} />;
  return (
    <Code block className="code">
      {text}
    </Code>
  );
}

function Content({ block }: { readonly block: Block }) {
  const { type, text, data, mimeType, uri } = block;
  if (type === "text" && typeof text === "string") return <TextBlock text={text} />;
  if (type === "image" && typeof data === "string" && typeof mimeType === "string" && PICTURE.test(mimeType)) {
    return <Image src={`data:${mimeType};base64,${data}`} alt="What the tool answered" maw={420} />;
  }
  if (type === "resource_link" && typeof uri === "string" && /^https?:/.test(uri)) {
    return (
      <Anchor href={uri} target="_blank" rel="noreferrer">
        {uri}
      </Anchor>
    );
  }
  return <JsonTree value={block} />;
}

/** The result of a tool: text, data as a tree, images. */
export function ToolResult({ result }: { readonly result: Schemas["CallToolResult"] }) {
  const { content, isError, structuredContent } = result;
  // Text that only repeats the data is omitted.
  const blocks = structuredContent === undefined ? content : content.filter(({ type }) => type !== "text");
  return (
    <Stack gap="sm" role="status">
      {isError && <Alert color="red" title="The tool says that it failed" />}
      {structuredContent !== undefined && <JsonTree value={structuredContent} />}
      {blocks.map((block, at) => (
        <Content key={at} block={block} />
      ))}
      {content.length === 0 && structuredContent === undefined && <Text c="dimmed">It answered nothing.</Text>}
    </Stack>
  );
}
