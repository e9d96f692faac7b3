import { globSync } from "node:fs";
import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { generate } from "./generate.ts";
import type { Language } from "./language.ts";
import { runTool } from "./run-tool.ts";

const PROTOBUF = "4.33.0";
const GRPC = "1.76.0";

/** The compilers published on Maven, by platform. */
const PLATFORMS: Readonly<Record<string, string>> = { x64: "linux-x86_64", arm64: "linux-aarch_64" };

function pom(platform: string): string {
  const library = (name: string, version: string): string => {
    const [group = "", artifact = ""] = name.split(":");
    return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`;
  };
  const program = (name: string, version: string): string =>
    library(name, version).replace(
      "</dependency>",
      `<type>exe</type><classifier>${platform}</classifier></dependency>`,
    );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>story</artifactId><version>1</version>
<dependencies>
${program("com.google.protobuf:protoc", PROTOBUF)}
${program("io.grpc:protoc-gen-grpc-java", GRPC)}
${library("com.google.protobuf:protobuf-java", PROTOBUF)}
${library("io.grpc:grpc-protobuf", GRPC)}
${library("io.grpc:grpc-stub", GRPC)}
${library("io.grpc:grpc-netty-shaded", GRPC)}
</dependencies></project>`;
}

/** Uses protoc, its gRPC plugin and the libraries from Maven, and compiles with javac only. */
export const JAVA: Language = {
  name: "Java",
  needs: ["java", "javac", "mvn"],
  build: async (folder) => {
    const platform = PLATFORMS[process.arch];
    if (platform === undefined) throw new Error(`Maven has no protoc for ${process.arch}.`);
    await writeFile(join(folder, "pom.xml"), pom(platform));
    const copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib"];
    await runTool("mvn", ["--batch-mode", "--quiet", ...copy], { folder });
    const protoc = join(folder, "lib", `protoc-${PROTOBUF}-${platform}.exe`);
    const plugin = join(folder, "lib", `protoc-gen-grpc-java-${GRPC}-${platform}.exe`);
    await Promise.all([chmod(protoc, 0o755), chmod(plugin, 0o755)]);
    const plugins = {
      "buf.build/protocolbuffers/java": { protoc_builtin: "java", protoc_path: protoc },
      "buf.build/grpc/java": { local: plugin },
    };
    await generate("java", plugins, folder);
    await copyFile(join(PROJECT_FOLDER, "examples", "Story.java"), join(folder, "java", "Story.java"));
    const classes = join(folder, "classes");
    await mkdir(classes);
    const path = `${join(folder, "lib")}/*`;
    const sources = globSync("**/*.java", { cwd: join(folder, "java") });
    await runTool("javac", ["-nowarn", "-encoding", "UTF-8", "-cp", path, "-d", classes, ...sources], {
      folder: join(folder, "java"),
    });
    return [{ example: "Story.java", command: "java", args: ["-cp", [classes, path].join(delimiter), "Story"] }];
  },
};
