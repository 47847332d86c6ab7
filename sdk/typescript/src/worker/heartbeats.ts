import type { Http } from "../http.js";
import type { Logger } from "../logger.js";
import { type NodeThread, nodeThreads, trustedCertificates } from "../runtime.js";
import {
  type HeartbeatMessage,
  type HeartbeatNews,
  type HeartbeatReport,
  type LeasedClaim,
  runHeartbeats,
} from "./heartbeat-loop.js";
import { HEARTBEAT_SOURCE, NODE_FETCH_SOURCE } from "./heartbeat-source.js";

interface HeartbeatOptions {
  http: Http;
  logger: Logger;
  worker: string;
  leaseMs: number | undefined;
  onNews: (news: HeartbeatNews) => void;
}

/** The heartbeats of a worker, on a thread of their own where there are threads. */
export class Heartbeats {
  readonly #options: HeartbeatOptions;
  readonly #held = new Map<string, LeasedClaim>();
  #thread: NodeThread | undefined;
  #send: (message: HeartbeatMessage) => void;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
    this.#send = this.#startThread() ?? this.#startHere();
  }

  /** From now on the leases of these claims are renewed. */
  hold(claims: LeasedClaim[]): void {
    for (const claim of claims) this.#held.set(`${claim.id} ${claim.fence}`, claim);
    this.#send({ hold: claims });
  }

  /** These claims have been settled. */
  drop(claims: LeasedClaim[]): void {
    for (const claim of claims) this.#held.delete(`${claim.id} ${claim.fence}`);
    this.#send({ drop: claims });
  }

  async stop(): Promise<void> {
    this.#send({ drop: [...this.#held.values()] });
    await this.#thread?.terminate();
  }

  #settings() {
    const { http, worker, leaseMs } = this.#options;
    const { url, apiKey } = http.settings;
    const headers: Record<string, string> = { "content-type": "application/json" };
    if (apiKey) headers["authorization"] = `Bearer ${apiKey}`;
    return { url: `${url}/api/v1`, headers, worker, leaseMs };
  }

  #startThread(): ((message: HeartbeatMessage) => void) | undefined {
    const threads = nodeThreads();
    if (!threads || this.#options.http.settings.isFetchCustom) return undefined;
    const source = `${HEARTBEAT_SOURCE}
      ${NODE_FETCH_SOURCE}
      const { parentPort, workerData } = require("node:worker_threads");
      const send = nodeFetch(require("node:http"), require("node:https"), workerData.ca);
      const report = (found) => parentPort.postMessage(found);
      parentPort.on("message", runHeartbeats(workerData, report, send));`;
    // Without the flags of the process, which may load what an application needs and this does not.
    const workerData = { ...this.#settings(), ca: trustedCertificates() };
    const options = { eval: true, execArgv: [], workerData } as const;
    const thread = new threads.Worker(source, options);
    thread.on("message", (report: HeartbeatReport) => this.#receive(report));
    thread.on("error", (error: Error) => this.#leaveThread(error));
    thread.unref();
    this.#thread = thread;
    return (message) => thread.postMessage(message);
  }

  #startHere(): (message: HeartbeatMessage) => void {
    const report = (found: HeartbeatReport) => this.#receive(found);
    return runHeartbeats(this.#settings(), report, this.#options.http.settings.fetch);
  }

  #receive({ news, error }: HeartbeatReport): void {
    const { logger, onNews } = this.#options;
    if (error !== undefined) logger.warn("cannot renew leases yet", { error });
    news?.forEach(onNews);
  }

  #leaveThread(error: Error): void {
    const fields = { error: error.message };
    this.#options.logger.warn(
      "heartbeats have no thread; a handler that blocks delays them",
      fields,
    );
    this.#thread = undefined;
    this.#send = this.#startHere();
    this.#send({ hold: [...this.#held.values()] });
  }
}
