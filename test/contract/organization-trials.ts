import type { Trial } from "./access-trial.ts";

/** The access rules of OrganizationService. */
export const ORGANIZATION_TRIALS: Readonly<Record<string, Trial>> = {
  CreateOrganization: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: () => ({ input: { name: "Theirs" } }),
    namesSomething: false,
  },
  ListOrganizations: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: () => ({ input: {} }),
    namesSomething: false,
  },
  GetOrganization: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ organization }) => ({ input: { organization_id: organization } }),
    namesSomething: true,
  },
  UpdateOrganization: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ organization }) => ({ input: { organization_id: organization, name: "Taken over" } }),
    namesSomething: true,
  },
  DeleteOrganization: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ organization }) => ({ input: { organization_id: organization } }),
    namesSomething: true,
  },
  TransferOwnership: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ organization, owner }) => ({ input: { organization_id: organization, member_id: owner } }),
    namesSomething: true,
  },
  ListMembers: {
    wrongScopes: "mgmt.write mcp.read mcp.write",
    request: ({ organization }) => ({ input: { organization_id: organization } }),
    namesSomething: true,
  },
  UpdateMember: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ organization, owner }) => ({
      input: { organization_id: organization, member_id: owner, role: "member" },
    }),
    namesSomething: true,
  },
  RemoveMember: {
    wrongScopes: "mgmt.read mcp.read mcp.write",
    request: ({ organization, owner }) => ({ input: { organization_id: organization, member_id: owner } }),
    namesSomething: true,
  },
};
