import { type Command, withServices } from "./command.ts";

export const accountCommands: readonly Command[] = [
  {
    name: "account create",
    synopsis: "--email EMAIL [--admin]",
    summary: "creates an account and prints its password once",
    options: { email: { type: "string" }, admin: { type: "boolean" } },
    run: (given, deps) => {
      const request = { email: given.required("email"), isAdmin: given.flag("admin") };
      return withServices(deps, async ({ accounts }) => {
        const { accountId, email, password } = await accounts.create(request);
        return {
          json: { account_id: accountId, email, password },
          text: `Account ${accountId} for ${email}.\nPassword, shown only this once: ${password}`,
        };
      });
    },
  },
  {
    name: "account reset-password",
    synopsis: "--email EMAIL | --account ID",
    summary: "prints a new password once and logs the account out everywhere",
    options: { email: { type: "string" }, account: { type: "string" } },
    takesValue: true,
    run: (given, deps) => {
      const wanted = given.required("email", "account");
      return withServices(deps, async ({ accounts }) => {
        const { accountId, email, password } = await accounts.resetPassword(wanted);
        return {
          json: { account_id: accountId, email, password },
          text: `Account ${accountId} (${email}).\nPassword, shown only this once: ${password}`,
        };
      });
    },
  },
  {
    name: "account disable",
    synopsis: "--email EMAIL | --account ID",
    summary: "disables an account and rejects all its tokens",
    options: { email: { type: "string" }, account: { type: "string" } },
    takesValue: true,
    run: (given, deps) => {
      const wanted = given.required("email", "account");
      return withServices(deps, async ({ accounts }) => {
        const { id, email } = await accounts.disable(wanted);
        return { json: { account_id: id, email }, text: `Account ${id} (${email}) is disabled.` };
      });
    },
  },
];
