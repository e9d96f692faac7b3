import { invalid } from "../../domain-error.ts";

/** The roles in an organization, the most powerful first. Each may do what the next one may. */
export const ROLES = ["owner", "admin", "member"] as const;

export type Role = (typeof ROLES)[number];

/** Whether a role may do what another role may. */
export function includesRole(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) <= ROLES.indexOf(needed);
}

/** Parses the `role` of a request. Throws `invalid`. */
export function parseRole(text: string): Role {
  const role = ROLES.find((known) => known === text);
  if (role === undefined) throw invalid("role", `role must be one of ${ROLES.join(", ")}.`);
  return role;
}
