import { Text, Textarea } from "@mantine/core";
import { useState } from "react";
import type { Schemas } from "../../api/schemas.ts";
import { CopyText } from "../../parts/copy-text.tsx";
import { ShownOnce } from "../../parts/shown-once.tsx";
import { CredentialForm } from "./new-credential.tsx";
import { useCreateClient } from "./use-clients.ts";

function MadeClient({ made }: { readonly made: Schemas["CreateOAuthClientResult"] }) {
  return (
    <>
      <Text size="sm">The client id:</Text>
      <CopyText label="client id" text={made.data.client_id} />
      {made.client_secret !== undefined && <ShownOnce label="client secret" text={made.client_secret} />}
    </>
  );
}

/** Creates an OAuth client and shows its secret once. */
export function NewClient({ onClose }: { readonly onClose: () => void }) {
  const [redirects, setRedirects] = useState("");
  const create = useCreateClient();
  const redirectUris = redirects.split(/\s+/).filter((uri) => uri !== "");
  return (
    <CredentialForm
      noun="client"
      nameHint="People see it when they are asked to allow it."
      firstScope="mgmt.read"
      making={create}
      made={create.data && <MadeClient made={create.data} />}
      onClose={onClose}
      onSubmit={(asked) => {
        create.mutate({ ...asked, ...(redirectUris.length > 0 && { redirect_uris: redirectUris }) });
      }}
    >
      <Textarea
        label="Redirect addresses"
        description="One a line, for a program that people log in to. Leave empty for one that acts for itself."
        autosize
        value={redirects}
        onChange={(event) => {
          setRedirects(event.currentTarget.value);
        }}
      />
    </CredentialForm>
  );
}
