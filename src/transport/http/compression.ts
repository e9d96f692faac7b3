import type { DescMessage } from "@bufbuild/protobuf";

/** Minimum response size for compression, in bytes. Compressing a smaller one costs more CPU than it saves. */
export const COMPRESS_MIN_BYTES = 32 * 1024;

/**
 * Whether responses of this type may be compressed. A type with a secret (`debug_redact`) may not, because the
 * compressed length reveals content (BREACH).
 */
export function mayCompress(desc: DescMessage, seen: readonly DescMessage[] = []): boolean {
  if (seen.includes(desc)) return true;
  return desc.fields.every((field) => {
    if (field.proto.options?.debugRedact === true) return false;
    return field.message === undefined || mayCompress(field.message, [...seen, desc]);
  });
}
