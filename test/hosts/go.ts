import { copyFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runTool } from "../clients/run-tool.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import type { HostProgram } from "./host-program.ts";

/** The official Go SDK. */
export const GO_SDK = goProgram("go-sdk", "github.com/modelcontextprotocol/go-sdk", "v1.8.0", "go_sdk.go");

export const MCP_GO = goProgram("mcp-go", "github.com/mark3labs/mcp-go", "v1.2.1", "mcp_go.go");

function goProgram(name: string, module: string, version: string, source: string): HostProgram {
  return {
    name,
    version,
    needs: ["go"],
    lacks: {},
    build: async (folder) => {
      await writeFile(
        join(folder, "go.mod"),
        `module patchbay.dev/hosts\n\ngo 1.25.5\n\nrequire ${module} ${version}\n`,
      );
      for (const file of ["story.go", source])
        await copyFile(join(PROJECT_FOLDER, "test", "hosts", "go", file), join(folder, file));
      await runTool("go", ["mod", "tidy"], { folder });
      await runTool("go", ["vet", "./..."], { folder });
      await runTool("go", ["build", "-o", "host", "."], { folder });
      return { command: join(folder, "host"), args: [] };
    },
  };
}
