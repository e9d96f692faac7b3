import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import type { Document } from "./document.ts";
import { listPromises, lostPromises } from "./promises.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const baselineProto = `${root}proto/baseline.binpb`;
const baselinePromises = `${root}openapi/baseline.txt`;

export interface Comparison {
  /** The changes that break clients of the baseline, one sentence each. */
  readonly broken: readonly string[];
  /** Whether the recorded baseline equals the working tree. */
  readonly isRecorded: boolean;
}

/** Compares proto/ and openapi/ with the recorded baseline. Comments and examples are ignored. */
export function compareWithBaseline(document: Document): Comparison {
  const promises = listPromises(document);
  const baseline = readFileSync(baselinePromises, "utf8").split("\n").filter(Boolean);
  const broken = [
    ...breakingInProto(),
    ...lostPromises(baseline, promises).map((line) => `openapi: no longer «${line}»`),
  ];
  const isRecorded =
    ownFiles(readFileSync(baselineProto)).equals(ownFiles(buildImage())) && baseline.join("\n") === promises.join("\n");
  return { broken, isRecorded };
}

export function recordBaseline(document: Document): void {
  writeFileSync(baselineProto, buildImage());
  writeFileSync(baselinePromises, `${listPromises(document).join("\n")}\n`);
}

function buildImage(): Buffer {
  return execFileSync("buf", ["build", "--exclude-source-info", "-o", "-"], { cwd: root });
}

/** Returns the image without Google's files, which change with the version of buf. */
function ownFiles(image: Buffer): Buffer {
  const { file } = fromBinary(FileDescriptorSetSchema, image);
  const own = file.filter(({ name }) => !name.startsWith("google/"));
  return Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: own })));
}

function breakingInProto(): string[] {
  try {
    // Builds an image first, because buf compares a workspace of several modules with an image only by the files of the
    // first module.
    const config = JSON.stringify({ version: "v2", breaking: { use: ["FILE"] } });
    const options = ["--exclude-imports", "--config", config, "--against", baselineProto];
    execFileSync("buf", ["breaking", "-#format=binpb", ...options], {
      cwd: root,
      input: buildImage(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    return [];
  } catch (error) {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : "";
    if (output === "") throw error;
    return output.split("\n").filter(Boolean);
  }
}
