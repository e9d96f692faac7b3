import { join } from "node:path";
import { runTool } from "../clients/run-tool.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import type { HostProgram } from "./host-program.ts";

/** The official Python SDK 1.x: sessions of 2025-11-25 and earlier. */
export const PYTHON_SDK_V1: HostProgram = {
  ...pythonProgram("mcp", "1.30.0", "mcp_v1.py"),
  lacks: {
    cancel: {
      word: "silent",
      evidence: "A canceled call ends in the client alone: `mcp/shared/session.py` sends no `notifications/cancelled`.",
    },
  },
};

/** The official Python SDK 2.x. */
export const PYTHON_SDK_V2 = pythonProgram("mcp", "2.3.0", "mcp_v2.py");

export const FASTMCP = pythonProgram("fastmcp", "4.1.0", "fast_mcp.py");

function pythonProgram(name: string, version: string, source: string): HostProgram {
  return {
    name,
    version,
    needs: ["python3"],
    lacks: {},
    build: async (folder) => {
      await runTool("python3", ["-m", "venv", folder]);
      const python = join(folder, "bin", "python");
      const options = ["--quiet", "--disable-pip-version-check"];
      await runTool(python, ["-m", "pip", "install", ...options, `${name}==${version}`]);
      return {
        command: python,
        args: [join(PROJECT_FOLDER, "test", "hosts", "python", source)],
        env: { PYTHONDONTWRITEBYTECODE: "1" },
      };
    },
  };
}
