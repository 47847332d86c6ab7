// What Node has and a browser or an edge runtime has not. It is looked up when it is used and never
// imported, so that a bundle for another place does not ask for Node's modules.

/** The parts of `process` that are used here. */
export interface NodeProcess {
  readonly pid: number;
  readonly env: Record<string, string | undefined>;
  on(signal: string, listener: (signal: string) => void): void;
  off(signal: string, listener: (signal: string) => void): void;
  exit(code: number): never;
  getBuiltinModule?(name: string): unknown;
}

/** The parts of a thread of `node:worker_threads` that are used here. */
export interface NodeThread {
  postMessage(message: unknown): void;
  on(event: "message" | "error", listener: (value: never) => void): void;
  unref(): void;
  terminate(): Promise<unknown>;
}

export interface NodeThreads {
  Worker: new (
    source: string,
    options: { eval: true; execArgv: readonly string[]; workerData: unknown },
  ) => NodeThread;
}

/** The parts of `node:http` and `node:https` that are used here. */
export interface NodeHttp {
  Agent: new (options: { keepAlive: true; ca?: readonly string[] }) => unknown;
  request(
    url: string,
    options: {
      agent: unknown;
      method: string;
      headers: Record<string, string>;
      signal: AbortSignal;
    },
    onResponse: (response: NodeResponse) => void,
  ): NodeRequest;
}

interface NodeRequest {
  on(event: "error", listener: (error: Error) => void): void;
  end(body: string | undefined): void;
}

interface NodeResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string | undefined>;
  setEncoding(encoding: "utf8"): void;
  on(event: "data" | "end" | "close" | "error", listener: (value: never) => void): void;
}

export interface AsyncStorage<Value> {
  run<Result>(value: Value, work: () => Result): Result;
  getStore(): Value | undefined;
}

interface AsyncHooks {
  AsyncLocalStorage: new <Value>() => AsyncStorage<Value>;
}

export const nodeProcess = (globalThis as { process?: NodeProcess }).process;

function builtin<Module>(name: string): Module | undefined {
  return nodeProcess?.getBuiltinModule?.(name) as Module | undefined;
}

export function environment(name: string): string | undefined {
  return nodeProcess?.env?.[name] || undefined;
}

export function hostName(): string | undefined {
  return builtin<{ hostname(): string }>("node:os")?.hostname();
}

/** The certificates to trust if `STEADFAST_CA_FILE` names more than those of Node. */
export function trustedCertificates(): readonly string[] | undefined {
  const file = environment("STEADFAST_CA_FILE");
  const fs = builtin<{ readFileSync(path: string, encoding: "utf8"): string }>("node:fs");
  const tls = builtin<{ rootCertificates: readonly string[] }>("node:tls");
  if (!file || !fs || !tls) return undefined;
  return [...tls.rootCertificates, fs.readFileSync(file, "utf8")];
}

/** Only of Node itself: other runtimes imitate it on top of what their `fetch` does better. */
export function nodeHttp(name: "node:http" | "node:https"): NodeHttp | undefined {
  const isOther = "Deno" in globalThis || "Bun" in globalThis;
  return isOther ? undefined : builtin<NodeHttp>(name);
}

export function nodeThreads(): NodeThreads | undefined {
  return builtin<NodeThreads>("node:worker_threads");
}

/** Values that follow a chain of asynchronous calls; without Node there are none. */
export function asyncStorage<Value>(): AsyncStorage<Value> {
  const hooks = builtin<AsyncHooks>("node:async_hooks");
  if (hooks) return new hooks.AsyncLocalStorage<Value>();
  return { run: (_value, work) => work(), getStore: () => undefined };
}

/** Runs `work` when what is ready now has run, so that it sees all of it at once. */
export function afterThisTurn(work: () => void): void {
  const { setImmediate } = globalThis as { setImmediate?: (work: () => void) => void };
  if (setImmediate) setImmediate(work);
  else setTimeout(work, 0);
}
