import { Select } from "@mantine/core";
import { useState } from "react";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { useConnections } from "../connections/use-connections.ts";
import { CredentialForm } from "./new-credential.tsx";
import { useCreateToken } from "./use-tokens.ts";

const LIVES = [
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "A year" },
  { value: "", label: "Without an end" },
];

/** Creates a personal access token and shows it once. */
export function NewToken({ onClose }: { readonly onClose: () => void }) {
  const [connection, setConnection] = useState("");
  const [days, setDays] = useState("90");
  const { data: connections } = useConnections();
  const create = useCreateToken();
  return (
    <CredentialForm
      noun="token"
      nameHint="What it is for, so that you know it again."
      firstScope="mcp.read"
      making={create}
      made={create.data && <ShownOnce label="token" text={create.data.token} />}
      onClose={onClose}
      onSubmit={(asked) => {
        create.mutate({
          ...asked,
          ...(connection !== "" && { server_id: connection }),
          ...(days !== "" && { expires_in_days: Number(days) }),
        });
      }}
    >
      <Select
        label="What it reaches"
        value={connection}
        allowDeselect={false}
        onChange={(id) => {
          setConnection(id ?? "");
        }}
        data={[
          { value: "", label: "All connections" },
          ...(connections ?? []).map((each) => ({ value: String(each.id), label: each.mcp_server_name })),
        ]}
      />
      <Select
        label="How long it holds"
        value={days}
        allowDeselect={false}
        onChange={(value) => {
          setDays(value ?? "90");
        }}
        data={LIVES}
      />
    </CredentialForm>
  );
}
