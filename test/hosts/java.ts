import { mkdir, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { runTool } from "../clients/run-tool.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import type { HostProgram } from "./host-program.ts";

const VERSION = "2.1.0";

const POM = `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>com.example</groupId><artifactId>host</artifactId><version>1</version>
<dependencies><dependency>
<groupId>io.modelcontextprotocol.sdk</groupId><artifactId>mcp</artifactId><version>${VERSION}</version>
</dependency></dependencies></project>`;

/** The official Java SDK. */
export const JAVA_SDK: HostProgram = {
  name: "Java SDK",
  version: VERSION,
  needs: ["java", "javac", "mvn"],
  lacks: {
    cancel: {
      word: "silent",
      evidence: "No class of `mcp-core` contains `notifications/cancelled`; a canceled call ends in the client alone.",
    },
  },
  build: async (folder) => {
    await writeFile(join(folder, "pom.xml"), POM);
    const copy = ["dependency:copy-dependencies", "-DoutputDirectory=lib"];
    await runTool("mvn", ["--batch-mode", "--quiet", ...copy], { folder });
    const [libraries, classes] = [`${join(folder, "lib")}/*`, join(folder, "classes")];
    await mkdir(classes);
    const source = join(PROJECT_FOLDER, "test", "hosts", "java", "Story.java");
    await runTool("javac", ["-encoding", "UTF-8", "-cp", libraries, "-d", classes, source]);
    return { command: "java", args: ["-cp", [classes, libraries].join(delimiter), "Story"] };
  },
};
