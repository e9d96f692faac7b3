import { Radio, Stack } from "@mantine/core";
import type { Schemas } from "../../../api/schemas.ts";
import { ErrorNotice } from "../../../parts/error-notice.tsx";
import { useUpdate } from "../use-update.ts";

type Accepting = Schemas["ConnectionDetails"]["accept_tool_changes"];

/** Whether changes of tools are accepted automatically. */
export function AcceptingSetting({ id, current }: { readonly id: string; readonly current: Accepting }) {
  const update = useUpdate(id);
  return (
    <Stack gap="xs" maw={620}>
      <Radio.Group
        label="When the vendor changes a tool"
        value={current}
        onChange={(word) => {
          update.mutate({ accept_tool_changes: word === "automatic" ? "automatic" : "manual" });
        }}
      >
        <Stack gap="xs" mt="xs">
          <Radio
            value="manual"
            label="Wait for me"
            description="Agents see the tool as it was until you accept the change. Safest: nobody can slip instructions in."
          />
          <Radio
            value="automatic"
            label="Take it over at once"
            description="For vendors that you trust with what your agents read."
          />
        </Stack>
      </Radio.Group>
      {update.error !== null && <ErrorNotice error={update.error} />}
    </Stack>
  );
}
