import { execFileSync } from "node:child_process";
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  getOption,
} from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../gen/proto/google/api/annotations_pb.ts";
import type { HttpRule } from "../../gen/proto/google/api/http_pb.ts";
import { AccountSettingsService } from "../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
import { AdminService } from "../../gen/proto/patchbay/v1/admin_service_pb.ts";
import { AuditService } from "../../gen/proto/patchbay/v1/audit_service_pb.ts";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { GrantService } from "../../gen/proto/patchbay/v1/grant_service_pb.ts";
import { HistoryService } from "../../gen/proto/patchbay/v1/history_service_pb.ts";
import { IntegrationService } from "../../gen/proto/patchbay/v1/integration_service_pb.ts";
import {
  RestSource,
  error_texts,
  http_success_status,
  lenient_body,
  public$,
  required_scope,
  rest_source,
} from "../../gen/proto/patchbay/v1/options_pb.ts";
import { OAuthClientService } from "../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { OrganizationService } from "../../gen/proto/patchbay/v1/organization_service_pb.ts";
import { PersonalAccessTokenService } from "../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
import { RuntimeService } from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { ToolService } from "../../gen/proto/patchbay/v1/tool_service_pb.ts";
import { WebhookService } from "../../gen/proto/patchbay/v1/webhook_service_pb.ts";

/** The services that REST also serves. */
export const services: readonly DescService[] = [
  AccountSettingsService,
  AdminService,
  AuditService,
  ConnectionService,
  GrantService,
  HistoryService,
  IntegrationService,
  OAuthClientService,
  OrganizationService,
  PersonalAccessTokenService,
  RuntimeService,
  ToolService,
  WebhookService,
];

/** One RPC on one REST path, from the options of the contract. */
export interface Binding {
  readonly rpc: DescMethod;
  readonly method: string;
  readonly path: string;
  readonly successStatus: string;
  readonly scopes: readonly string[];
  readonly forbiddenText: string;
  readonly internalText: string;
  readonly pathFields: readonly DescField[];
  readonly queryFields: readonly DescField[];
  /** The fields of the JSON body. Undefined without a body. */
  readonly bodyFields: readonly DescField[] | undefined;
  readonly isLenient: boolean;
}

/** Lists every REST binding of the services' RPCs. */
export function listBindings(): Binding[] {
  return services.flatMap((service) =>
    service.methods.flatMap((rpc) => {
      const rule = getOption(rpc, http);
      return [rule, ...rule.additionalBindings].map((each) => toBinding(rpc, each));
    }),
  );
}

function toBinding(rpc: DescMethod, rule: HttpRule): Binding {
  const method = rule.pattern.case;
  const path = templateOf(rule);
  const inPath = new Set([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  const pathFields = rpc.input.fields.filter((field) => inPath.has(field.name));
  const rest = rpc.input.fields.filter((field) => !isPathField(rpc, field) && !inPath.has(field.name));
  const bySource = (source: RestSource) => rest.filter((field) => getOption(field, rest_source) === source);
  const unmarked = bySource(RestSource.UNSPECIFIED);
  const hasBody = rule.body === "*";
  const texts = getOption(rpc, error_texts);
  return {
    rpc,
    method: String(method).toUpperCase(),
    path,
    successStatus: String(getOption(rpc, http_success_status) || 200),
    scopes: getOption(rpc, public$) ? [] : getOption(rpc, required_scope),
    forbiddenText: texts.forbidden,
    internalText: texts.internal,
    pathFields,
    queryFields: [...(hasBody ? [] : unmarked), ...bySource(RestSource.QUERY)],
    bodyFields: hasBody ? unmarked : undefined,
    isLenient: getOption(rpc, lenient_body),
  };
}

function templateOf({ pattern }: HttpRule): string {
  if (typeof pattern.value !== "string") throw new Error(`unsupported HTTP pattern ${String(pattern.case)}`);
  return pattern.value;
}

/** Whether another binding of the same RPC takes the field from the path. The literal path then omits it. */
function isPathField(rpc: DescMethod, field: DescField): boolean {
  const rule = getOption(rpc, http);
  return [rule, ...rule.additionalBindings].some((each) => templateOf(each).includes(`{${field.name}}`));
}

function readFiles(): readonly FileDescriptorProto[] {
  const image = execFileSync("buf", ["build", "-o", "-"], { cwd: new URL("../..", import.meta.url) });
  return fromBinary(FileDescriptorSetSchema, image).file;
}

/** The names of the services in the sources, sorted. */
export function readServiceNames(): string[] {
  const files = readFiles().filter((file) => file.package.startsWith("patchbay."));
  return files.flatMap((file) => file.service.map(({ name }) => `${file.package}.${name}`)).sort();
}

/**
 * The comments on fields, by `Message.field`. They come from the sources because generated code has no structured
 * comments.
 */
export function readComments(): ReadonlyMap<string, string> {
  const comments = new Map<string, string>();
  for (const file of readFiles()) {
    for (const { path, leadingComments } of file.sourceCodeInfo?.location ?? []) {
      const [kind, messageIndex, part, fieldIndex] = path;
      if (path.length !== 4 || kind !== 4 || part !== 2) continue;
      const message = file.messageType[messageIndex ?? -1];
      const field = message?.field[fieldIndex ?? -1];
      if (message && field)
        comments.set(`${message.name}.${field.name}`, leadingComments.trim().replaceAll(/\s+/g, " "));
    }
  }
  return comments;
}

export function commentKey(message: DescMessage, field: DescField): string {
  return `${message.name}.${field.name}`;
}

/** The closed list of words in backticks in a comment's first sentence, sorted. Undefined for an open list. */
export function closedWords(comment: string): string[] | undefined {
  const sentence = comment.split(/\.(?=\s|$)/)[0] ?? "";
  if (sentence.includes("such as")) return undefined;
  const words = new Set([...sentence.matchAll(/`([a-z][a-z0-9_.]*)`/g)].map(([, word]) => String(word)));
  return words.size > 1 || /^`[a-z]+`$/.test(sentence) ? [...words].sort() : undefined;
}
