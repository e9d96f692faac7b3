import type { DescMessage } from "@bufbuild/protobuf";

/** Answers smaller than this are not worth the CPU that compressing them costs, in bytes. */
export const COMPRESS_MIN_BYTES = 32 * 1024;

/**
 * Whether answers of this type may be compressed: none that the contract marks as holding a secret (`debug_redact`), since
 * the length of what is compressed tells of what else is in it (BREACH).
 */
export function mayCompress(desc: DescMessage, seen: readonly DescMessage[] = []): boolean {
  if (seen.includes(desc)) return true;
  return desc.fields.every((field) => {
    if (field.proto.options?.debugRedact === true) return false;
    return field.message === undefined || mayCompress(field.message, [...seen, desc]);
  });
}
