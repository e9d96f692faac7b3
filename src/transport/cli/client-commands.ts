import { type Command, withServices } from "./command.ts";

export const clientCommands: readonly Command[] = [
  {
    name: "client create",
    synopsis: '--account EMAIL|ID --scope "SCOPE ..."',
    summary: "creates an OAuth client and prints its secret once",
    options: { account: { type: "string" }, scope: { type: "string" } },
    run: (given, deps) => {
      const wanted = given.required("account");
      const scope = given.required("scope");
      return withServices(deps, async ({ accounts, clients }) => {
        const { clientId, clientSecret } = await clients.create(await accounts.find(wanted), scope);
        return {
          json: { client_id: clientId, client_secret: clientSecret },
          text: `Client id: ${clientId}\nClient secret, shown only this once: ${clientSecret}`,
        };
      });
    },
  },
  {
    name: "client revoke",
    synopsis: "CLIENT_ID",
    summary: "revokes a client and all tokens issued to it",
    options: { "client-id": { type: "string" }, client: { type: "string" } },
    takesValue: true,
    run: (given, deps) => {
      const clientId = given.required("client-id", "client");
      return withServices(deps, async ({ clients }) => {
        await clients.revoke(clientId);
        return { json: { client_id: clientId }, text: `Client ${clientId} is revoked.` };
      });
    },
  },
];
