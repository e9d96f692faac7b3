import { Checkbox, Stack } from "@mantine/core";
import type { ConsoleScope } from "../api/schemas.ts";

export const SCOPES_IN_WORDS: Readonly<Record<string, string>> = {
  "mcp.read": "Use tools that only read",
  "mcp.write": "Use all tools, those that change things too",
  "mgmt.read": "See connections, their tools and their history",
  "mgmt.write": "Make, change and delete connections",
  "mgmt.admin": "Administer the service: accounts, keys, audit log",
};

export function scopesInWords(scopes: readonly string[]): string {
  return scopes.map((scope) => SCOPES_IN_WORDS[scope] ?? scope).join(" · ");
}

/** Selects scopes by description. Only administrators see `mgmt.admin`. */
export function ScopesInput({
  value,
  onChange,
  isAdmin,
}: {
  readonly value: readonly string[];
  readonly onChange: (scopes: ConsoleScope[]) => void;
  readonly isAdmin: boolean;
}) {
  const isScope = (text: string): text is ConsoleScope => text in SCOPES_IN_WORDS;
  const offered = Object.entries(SCOPES_IN_WORDS).filter(([scope]) => isAdmin || scope !== "mgmt.admin");
  return (
    <Checkbox.Group
      label="What it may do"
      value={[...value]}
      onChange={(chosen) => {
        onChange(chosen.filter(isScope));
      }}
      required
    >
      <Stack gap={6} mt={4}>
        {offered.map(([scope, words]) => (
          <Checkbox key={scope} value={scope} label={words} description={scope} />
        ))}
      </Stack>
    </Checkbox.Group>
  );
}
