import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  CreateOrganizationResponseSchema,
  DeleteOrganizationResponseSchema,
  GetOrganizationResponseSchema,
  ListMembersResponseSchema,
  ListOrganizationsResponseSchema,
  type OrganizationService,
  RemoveMemberResponseSchema,
  TransferOwnershipResponseSchema,
  UpdateMemberResponseSchema,
  UpdateOrganizationResponseSchema,
} from "../../../../gen/proto/patchbay/v1/organization_service_pb.ts";
import type { Members } from "../../../identity/organizations/members.ts";
import type { Organizations } from "../../../identity/organizations/organizations.ts";
import type { CallerOf } from "../caller.ts";
import { toWireMember, toWireOrganization } from "../mappers/organization.ts";
import { principalOf } from "../principal.ts";

export interface OrganizationHandlerDeps {
  readonly organizations: Organizations;
  readonly members: Members;
  readonly callerOf: CallerOf;
}

/** Handlers of OrganizationService. */
export function createOrganizationHandlers(deps: OrganizationHandlerDeps): ServiceImpl<typeof OrganizationService> {
  const { organizations, members, callerOf } = deps;
  return {
    async createOrganization({ name }, context) {
      const created = await organizations.create(callerOf(context), name);
      context.responseHeader.set("Location", `/api/v1/organizations/${created.id}`);
      return create(CreateOrganizationResponseSchema, { success: true, data: toWireOrganization(created) });
    },

    async listOrganizations({ limit, offset }, context) {
      const listed = await organizations.list(principalOf(context), { limit, offset });
      const { totalCount, hasMore } = listed;
      const data = listed.organizations.map(toWireOrganization);
      return create(ListOrganizationsResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async getOrganization({ organizationId }, context) {
      const organization = await organizations.get(principalOf(context), organizationId);
      return create(GetOrganizationResponseSchema, { success: true, data: toWireOrganization(organization) });
    },

    async updateOrganization({ organizationId, name }, context) {
      const organization = await organizations.rename(callerOf(context), organizationId, name);
      return create(UpdateOrganizationResponseSchema, { success: true, data: toWireOrganization(organization) });
    },

    async deleteOrganization({ organizationId }, context) {
      await organizations.delete(callerOf(context), organizationId);
      return create(DeleteOrganizationResponseSchema, { success: true, message: "Organization deleted" });
    },

    async transferOwnership({ organizationId, memberId }, context) {
      const organization = await organizations.transfer(callerOf(context), organizationId, memberId);
      return create(TransferOwnershipResponseSchema, { success: true, data: toWireOrganization(organization) });
    },

    async listMembers({ organizationId, limit, offset }, context) {
      const listed = await members.list(principalOf(context), organizationId, { limit, offset });
      const { totalCount, hasMore } = listed;
      const data = listed.members.map(toWireMember);
      return create(ListMembersResponseSchema, { success: true, data, totalCount, hasMore });
    },

    async updateMember({ organizationId, memberId, role }, context) {
      const member = await members.changeRole(callerOf(context), organizationId, memberId, role);
      return create(UpdateMemberResponseSchema, { success: true, data: toWireMember(member) });
    },

    async removeMember({ organizationId, memberId }, context) {
      await members.remove(callerOf(context), organizationId, memberId);
      return create(RemoveMemberResponseSchema, { success: true, message: "Member removed" });
    },
  };
}
