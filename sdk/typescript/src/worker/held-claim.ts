import { Backoff, pause } from "../backoff.js";
import { AttemptContext } from "../context.js";
import { ApiError, ConnectionError } from "../errors.js";
import type {
  Claim,
  HeartbeatEntry,
  PrerequisiteList,
  PrerequisiteResult,
  Step,
} from "../generated.js";
import { type Http, isTransient } from "../http.js";
import type { Logger } from "../logger.js";
import type { HeartbeatNews } from "./heartbeat-loop.js";

const ONCE = { isRepeatable: false };

/** A claim that this worker holds, and the attempt that runs under it. */
export class HeldClaim {
  readonly id: string;
  readonly fence: number;
  readonly leaseMs: number;
  readonly context: AttemptContext;
  /** The server said that the claim has expired. */
  isStale = false;
  /** It was given back, or its outcome is being reported. */
  isReported = false;
  readonly #http: Http;
  readonly #worker: string;
  /** Sent with each heartbeat, which would otherwise renew with the job's own lease. */
  readonly #lease: Pick<HeartbeatEntry, "lease">;

  constructor(
    claim: Claim,
    settings: {
      http: Http;
      logger: Logger;
      worker: string;
      leaseMs: number | undefined;
      stopping: AbortSignal;
    },
  ) {
    this.id = claim.id;
    this.fence = claim.fence;
    this.leaseMs = settings.leaseMs ?? claim.job.leaseMs;
    this.#http = settings.http;
    this.#worker = settings.worker;
    this.#lease = settings.leaseMs === undefined ? {} : { lease: settings.leaseMs };
    this.context = new AttemptContext(
      claim.job,
      {
        getStep: (name) => this.#getStep(name),
        saveStep: (name, result) => this.#saveStep(name, result),
        reportProgress: (progress, note) => this.#heartbeat({ progress, note }),
        listPrerequisites: () => this.#listPrerequisites(),
        storeLog: (log) => this.#heartbeat({ log }),
      },
      settings.logger,
      settings.stopping,
    );
  }

  /** Acts on what a heartbeat found out. */
  receive(what: HeartbeatNews["what"]): void {
    if (what === "cancelled" || what === "timeout") return this.context.abort(what);
    this.isStale = what === "stale";
    this.context.abort("lease_lost");
  }

  async #getStep(name: string): Promise<{ result: unknown } | undefined> {
    try {
      const input = { path: { id: this.id, name }, query: { fence: this.fence } };
      return await this.#repeat(async () => checked(await this.#http.call("getStep", input, ONCE)));
    } catch (error) {
      if (error instanceof ApiError && error.code === "step_not_found") return undefined;
      throw error;
    }
  }

  async #saveStep(name: string, result: unknown): Promise<unknown> {
    const input = { path: { id: this.id, name }, body: { fence: this.fence, result } };
    const step = await this.#repeat(async () =>
      checked(await this.#http.call("saveStep", input, ONCE)),
    );
    return step.result;
  }

  async #listPrerequisites(): Promise<PrerequisiteResult[]> {
    const found: PrerequisiteResult[] = [];
    let after: string | null | undefined;
    do {
      const query = { fence: this.fence, ...(after != null && { after }) };
      const input = { path: { id: this.id }, query };
      const list = await this.#repeat(async () =>
        checkedList(await this.#http.call("listPrerequisites", input, ONCE)),
      );
      found.push(...list.prerequisites);
      after = list.nextCursor;
    } while (after != null);
    return found;
  }

  /** Sends what the handler says, and hears whether it should stop. */
  async #heartbeat(news: Pick<HeartbeatEntry, "progress" | "note" | "log">): Promise<void> {
    const claim = { id: this.id, fence: this.fence, ...this.#lease, ...news };
    const input = { body: { worker: this.#worker, claims: [claim] } };
    const options = { isRepeatable: true, signal: this.context.signal };
    const [result] = (await this.#http.call("sendHeartbeats", input, options)).claims;
    if (result?.code === "stale_fence" || result?.code === "not_found") this.receive("stale");
    else if (result?.timedOut) this.receive("timeout");
    else if (result?.cancelRequested) this.receive("cancelled");
    else if (result && !result.ok) throw new Error(result.detail ?? "the heartbeat was refused");
  }

  /** Repeats a request for as long as the attempt may go on: a step that was done must not be forgotten. */
  async #repeat<Answer>(request: () => Promise<Answer>): Promise<Answer> {
    const { signal } = this.context;
    const backoff = new Backoff(100, 5_000);
    for (;;) {
      try {
        return await request();
      } catch (error) {
        const isLost =
          error instanceof ApiError && ["stale_fence", "not_found"].includes(error.code);
        if (isLost) this.receive("stale");
        signal.throwIfAborted();
        // A key that was revoked may be replaced on the server's side.
        const isKey = error instanceof ApiError && [401, 403].includes(error.status);
        if (!isTransient(error) && !isKey) throw error;
        await pause(backoff.nextMs(error), signal);
      }
    }
  }
}

function checkedList(list: PrerequisiteList | undefined): PrerequisiteList {
  if (!Array.isArray(list?.prerequisites)) {
    throw new ConnectionError("an unexpected answer: not a list of prerequisites");
  }
  return list;
}

/** A proxy, or a server that is broken, may answer anything. */
function checked(step: Step | undefined): Step {
  if (typeof step !== "object" || step === null || !("result" in step)) {
    throw new ConnectionError("an unexpected answer: a step without its result");
  }
  return step;
}
