import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type Member as WireMember,
  MemberSchema,
  type Organization as WireOrganization,
  OrganizationSchema,
} from "../../../../gen/proto/patchbay/v1/organization_pb.ts";
import type { JoinedOrganization, Member } from "../../../identity/organizations/organization.ts";

export function toWireOrganization(organization: JoinedOrganization): WireOrganization {
  const { id, name, role, memberCount, createdAt } = organization;
  return create(OrganizationSchema, { id, name, role, memberCount, createdAt: timestampFromDate(createdAt) });
}

export function toWireMember({ id, email, role, createdAt }: Member): WireMember {
  return create(MemberSchema, { id, email, role, createdAt: timestampFromDate(createdAt) });
}
