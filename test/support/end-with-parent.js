import { Socket } from "node:net";
import process from "node:process";

// Ends the process into which it is imported once the process that started it is gone: that one's end of the pipe closes with it. Not
// those that inherit the import: their parent is another one, and their descriptor 3 something else.
if (String(process.ppid) === new URL(import.meta.url).searchParams.get("parent")) {
  const pipe = new Socket({ fd: 3, readable: true, writable: false });
  pipe.on("error", () => undefined);
  pipe.once("close", () => process.exit(1));
  pipe.resume();
  pipe.unref();
}
