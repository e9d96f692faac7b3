import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import type { ConsoleScope } from "../../api/schemas.ts";
import { ErrorNotice } from "../../parts/error-notice.tsx";
import { ScopesInput } from "../../parts/scopes.tsx";
import { useSession } from "../../shell/use-session.ts";

/** The fields of every credential. */
export interface NamedScopes {
  readonly name: string;
  readonly scopes: ConsoleScope[];
}

/** The dialog that creates a credential. Closing it discards its content, including a shown secret. */
export function CredentialDialog({
  title,
  opened,
  onClose,
  children,
}: {
  readonly title: string;
  readonly opened: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  return (
    <Modal opened={opened} onClose={onClose} title={title} size="lg" closeButtonProps={{ "aria-label": "Close" }}>
      {children}
    </Modal>
  );
}

/** A form with a name, scopes and the fields in `children`; afterwards it shows the secret once. */
export function CredentialForm({
  noun,
  nameHint,
  firstScope,
  making,
  made,
  onSubmit,
  onClose,
  children,
}: {
  /** The kind of credential, as in “Create token”. */
  readonly noun: string;
  readonly nameHint: string;
  readonly firstScope: ConsoleScope;
  readonly making: { readonly isPending: boolean; readonly error: unknown };
  /** Shown in place of the form; undefined until the credential is created. */
  readonly made: ReactNode;
  readonly onSubmit: (asked: NamedScopes) => void;
  readonly onClose: () => void;
  readonly children: ReactNode;
}) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<readonly ConsoleScope[]>([firstScope]);
  const { data: session } = useSession();
  if (made !== undefined) {
    return (
      <Stack>
        {made}
        <Button onClick={onClose} w="fit-content">
          Done
        </Button>
      </Stack>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit({ name, scopes: [...scopes] });
      }}
    >
      <Stack>
        <TextInput
          label="Name"
          description={nameHint}
          maxLength={255}
          required
          data-autofocus
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
          }}
        />
        <ScopesInput value={scopes} onChange={setScopes} isAdmin={session?.isAdmin ?? false} />
        {children}
        {making.error !== null && <ErrorNotice error={making.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={making.isPending} disabled={scopes.length === 0}>
            Make the {noun}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
