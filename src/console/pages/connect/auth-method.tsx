import { Radio, Stack } from "@mantine/core";
import type { Schemas } from "../../api/schemas.ts";

type Integration = Schemas["Integration"];

/** How calls authenticate at the upstream. */
export type ConsoleAuthMethod = Integration["auth_methods"][number];

const METHODS: Readonly<Record<ConsoleAuthMethod, { readonly label: string; readonly description: string }>> = {
  none: { label: "Not at all", description: "For a server that asks nobody who they are." },
  api_key: { label: "With a key", description: "You paste a key or a token that it gave you." },
  oauth2: { label: "Log in", description: "You log in at the vendor and grant access. No key to copy." },
};

/** Asks how calls authenticate, if there is a choice. */
export function AuthMethodInput({
  offered,
  value,
  onChange,
}: {
  readonly offered: readonly ConsoleAuthMethod[];
  readonly value: ConsoleAuthMethod | undefined;
  readonly onChange: (method: ConsoleAuthMethod | undefined) => void;
}) {
  if (offered.length < 2) return undefined;
  return (
    <Radio.Group
      label="How it authenticates"
      value={value ?? ""}
      onChange={(word) => {
        onChange(offered.find((each) => each === word));
      }}
    >
      <Stack gap="xs" mt={4}>
        {offered.map((method) => (
          <Radio key={method} value={method} {...METHODS[method]} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a method uses a property of the configuration: keys for `api_key`, `oauth_…` for a login. */
function isOfUse(name: string, method: ConsoleAuthMethod, credential: string | undefined): boolean {
  return name === credential ? method === "api_key" : method === "oauth2" || !name.startsWith("oauth_");
}

/** The configuration schema without the properties that a method does not use. */
export function schemaFor(
  { configuration_schema: schema, credential_property: credential, auth_methods: offered }: Integration,
  method: ConsoleAuthMethod | undefined,
): Readonly<Record<string, unknown>> {
  const { properties, required } = schema;
  if (method === undefined || offered.length < 2 || !isObject(properties)) return schema;
  const isKept = (name: unknown) => isOfUse(String(name), method, credential);
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(properties).filter(([name]) => isKept(name))),
    ...(Array.isArray(required) && { required: required.filter(isKept) }),
  };
}
