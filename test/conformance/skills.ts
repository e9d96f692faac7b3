import {
  ProtocolError,
  ProtocolErrorCode,
  type ReadResourceResult,
  type Resource,
  type Result,
} from "@modelcontextprotocol/server";
import { type Skill, skillEntry } from "@modelcontextprotocol/server/ext/skills";

export const SKILLS = "io.modelcontextprotocol/skills";

const FILES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "pdf-processing": {
    "SKILL.md": `---
name: pdf-processing
description: Extract, fill and assemble PDF documents
license: Apache-2.0
metadata:
  version: "2.1"
---

Choose the form in \`references/\`, then run \`scripts/fill.py\`.
`,
    "references/FORMS.md": "# Forms\n",
    "scripts/fill.py": "print('fill')\n",
  },
  "acme/refunds": {
    "SKILL.md": "---\nname: refunds\ndescription: Refund a customer\n---\n\nAsk before you pay.\n",
    "examples/email.md": "Dear customer,\n",
  },
};

const SKILL_ENTRIES: readonly Skill[] = await Promise.all(
  Object.entries(FILES).map(([path, files]) => skillEntry(path, files)),
);

/** The files by their URIs. */
const TEXTS = new Map(
  Object.entries(FILES).flatMap(([path, files]) =>
    Object.entries(files).map(([file, text]): [string, string] => [`skill://${path}/${file}`, text]),
  ),
);

/** The resources of each `SKILL.md`. */
export const SKILL_RESOURCES: readonly Resource[] = SKILL_ENTRIES.map(({ uri, frontmatter }) => ({
  uri,
  name: frontmatter.name,
  description: frontmatter.description,
  mimeType: "text/markdown",
}));

export function readSkillFile(uri: string): ReadResourceResult | undefined {
  const text = TEXTS.get(uri);
  return text === undefined ? undefined : { contents: [{ uri, mimeType: mimeTypeOf(uri), text }] };
}

/** Answers the methods of the extension. Pages have one item each; the cursor is the index of the item. */
export function answerSkillRequest(method: string, params: Readonly<Record<string, unknown>>): Result {
  const { uri, cursor } = params;
  const cache = { ttlMs: 60_000, cacheScope: "public" };
  switch (method) {
    case "skills/list":
      return { ...page("skills", SKILL_ENTRIES, cursor), ...cache };
    case "skills/get": {
      const skill = SKILL_ENTRIES.find((entry) => entry.uri === uri);
      if (skill === undefined) throw invalidParams(`No skill is served at ${String(uri)}`);
      return { skill, ...cache };
    }
    case "resources/directory/read": {
      const children = childrenOf(String(uri));
      if (children.length === 0) throw invalidParams(`${String(uri)} is not a directory resource`);
      return { ...page("resources", children, cursor), ...cache };
    }
    default:
      throw new ProtocolError(ProtocolErrorCode.MethodNotFound, `Method not found: ${method}`);
  }
}

function page(key: string, items: readonly object[], cursor: unknown): Result {
  const at = Number(cursor ?? 0);
  return { [key]: items.slice(at, at + 1), ...(at + 1 < items.length && { nextCursor: String(at + 1) }) };
}

function childrenOf(directory: string): readonly Resource[] {
  const below = [...TEXTS.keys()]
    .filter((file) => file.startsWith(`${directory}/`))
    .map((file) => file.slice(directory.length + 1).split("/"));
  const types = new Map(
    below.map(([name = "", ...rest]) => [name, rest.length > 0 ? "inode/directory" : mimeTypeOf(name)]),
  );
  return [...types].map(([name, mimeType]) => ({ uri: `${directory}/${name}`, name, mimeType }));
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}

function mimeTypeOf(file: string): string {
  return file.endsWith(".md") ? "text/markdown" : "text/x-python";
}
