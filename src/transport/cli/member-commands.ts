import { DomainError } from "../../domain-error.ts";
import { type Account, accountLabel } from "../../identity/account.ts";
import { OPERATOR } from "../../identity/actor.ts";
import { MAX_MEMBERS, type Member, type MemberStore } from "../../identity/organizations/organization.ts";
import { parseRole } from "../../identity/organizations/role.ts";
import { type Command, withServices } from "./command.ts";

/** Throws `not_found` unless a person is a member of an account. */
export async function findMember(
  store: Pick<MemberStore, "findMember">,
  organization: Account,
  person: Account,
): Promise<Member> {
  const member = await store.findMember(organization.id, person.id);
  if (member !== undefined) return member;
  throw new DomainError("not_found", `${accountLabel(person)} is not a member of ${accountLabel(organization)}.`);
}

export const memberCommands: readonly Command[] = [
  {
    name: "member add",
    synopsis: "--account ID --member EMAIL|ID [--role owner|admin|member]",
    summary: "adds a person to an organization, by default with the role member",
    options: { account: { type: "string" }, member: { type: "string" }, role: { type: "string" } },
    run: (given, deps) => {
      const wanted = given.required("account");
      const wantedMember = given.required("member");
      const role = parseRole(given.text("role") ?? "member");
      return withServices(deps, async ({ accounts, memberStore }) => {
        const [organization, person] = [await accounts.find(wanted), await accounts.find(wantedMember)];
        const labels = [accountLabel(person), accountLabel(organization)] as const;
        if (organization.kind !== "organization" || person.kind !== "person")
          throw new DomainError("conflict", "--account must be an organization and --member a person.");
        const outcome = await memberStore.addMember(organization.id, person.id, role, OPERATOR);
        if (outcome === "member_already")
          throw new DomainError("conflict", `${labels[0]} is already a member of ${labels[1]}.`);
        if (outcome === "full")
          throw new DomainError("exhausted", `An organization can have at most ${MAX_MEMBERS} members.`);
        return {
          json: { account_id: organization.id, member_id: person.id, role },
          text: `${labels[0]} is now ${role} of ${labels[1]}.`,
        };
      });
    },
  },
];
