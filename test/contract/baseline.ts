import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Document } from "./document.ts";
import { listPromises, lostPromises } from "./promises.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const landedProto = `${root}proto/landed.binpb`;
const landedPromises = `${root}openapi/landed.txt`;

/** How the contracts in the working tree stand to those that landed last. */
export interface Comparison {
  /** What a client of the landed contracts would miss, one sentence each. */
  readonly broken: readonly string[];
  /** Whether the record of what landed differs from the working tree at all. */
  readonly isRecorded: boolean;
}

/** Compares proto/ and openapi/ with the record of what landed last. Comments and examples do not count. */
export function compareWithLanded(document: Document): Comparison {
  const promises = listPromises(document);
  const landed = readFileSync(landedPromises, "utf8").split("\n").filter(Boolean);
  const broken = [
    ...breakingInProto(),
    ...lostPromises(landed, promises).map((line) => `openapi: no longer «${line}»`),
  ];
  const isRecorded =
    ownFiles(readFileSync(landedProto)).equals(ownFiles(buildImage())) && landed.join("\n") === promises.join("\n");
  return { broken, isRecorded };
}

/** Makes the contracts in the working tree the ones that later changes are compared with. */
export function recordAsLanded(document: Document): void {
  writeFileSync(landedProto, buildImage());
  writeFileSync(landedPromises, `${listPromises(document).join("\n")}\n`);
}

function buildImage(): Buffer {
  return execFileSync("buf", ["build", "--exclude-source-info", "-o", "-"], { cwd: root });
}

/** The image without what buf brings along, which changes with buf. */
function ownFiles(image: Buffer): Buffer {
  const { file } = fromBinary(FileDescriptorSetSchema, image);
  const own = file.filter(({ name }) => !name.startsWith("google/"));
  return Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: own })));
}

function breakingInProto(): string[] {
  try {
    execFileSync("buf", ["breaking", "--exclude-imports", "--against", landedProto], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    return [];
  } catch (error) {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    if (output === "") throw error;
    return output.split("\n").filter(Boolean);
  }
}
