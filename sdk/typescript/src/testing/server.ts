import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { DurationInput } from "../duration.js";
import type { Clock, Idle } from "../generated.js";
import { environment } from "../runtime.js";
import { Steadfast } from "../steadfast.js";

export interface TestServerOptions {
  /** The program: by default `STEADFAST_BIN`, or else `steadfast` on the path. */
  binary?: string | undefined;
  /** `manual` by default: time stands still until `advance`. */
  clock?: "manual" | "system" | undefined;
  /** `memory:` by default, which a manual clock needs. */
  store?: string | undefined;
}

/** A real server for tests. */
export interface TestServer {
  readonly url: string;
  /** A client of it. */
  readonly client: Steadfast;
  /** Moves the server's clock. */
  advance(by: DurationInput): Promise<Clock>;
  /** Returns when nothing is due and nothing runs. */
  runUntilIdle(timeout?: DurationInput): Promise<Idle>;
  stop(): Promise<void>;
}

/** Starts a server on a free port of this machine. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { clock = "manual", store = "memory:" } = options;
  const binary = options.binary ?? environment("STEADFAST_BIN") ?? "steadfast";
  const listen = ["serve", "--listen", "127.0.0.1:0", "--store", store];
  const child = spawn(binary, clock === "manual" ? [...listen, "--clock", clock] : listen, {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let errors = "";
  child.stderr.on("data", (chunk) => {
    errors = (errors + chunk).slice(-4_000);
  });
  const url = await new Promise<string>((resolve, reject) => {
    const lines = createInterface(child.stdout);
    lines.on("line", (line) => {
      const address = / on (https?:\/\/\S+)/.exec(line)?.[1];
      if (address) resolve(address);
    });
    child.once("error", (error: NodeJS.ErrnoException) => {
      const advice = "put steadfast on the path, or set STEADFAST_BIN";
      const isMissing = error.code === "ENOENT";
      reject(isMissing ? new Error(`there is no program ${binary}: ${advice}`) : error);
    });
    exited.then(() => reject(new Error(`${binary} did not start: ${errors}`)));
  });
  const client = new Steadfast({ url });
  return {
    url,
    client,
    advance: (by) => client.call("advanceClock", { body: { by } }),
    runUntilIdle: (timeout = "10s") =>
      client.call("runUntilIdle", { body: { timeout } }, { timeoutMs: 120_000 }),
    stop: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}
