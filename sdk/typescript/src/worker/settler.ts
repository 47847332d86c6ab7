import { Backoff, pause } from "../backoff.js";
import { ApiError } from "../errors.js";
import type { SettlementList, SettlementRequest, SettlementResult } from "../generated.js";
import { type Http, isTransient } from "../http.js";
import type { Logger } from "../logger.js";
import { afterThisTurn } from "../runtime.js";
import { checkResults } from "./answers.js";
import type { HeldClaim } from "./held-claim.js";

/** The server takes as many at once. */
const BATCH_MAX = 1_000;
/** At most three bytes each in UTF-8: below the server's limit of 1 MiB for a request. */
const BATCH_LENGTH_MAX = 300_000;
/** With its log; an outcome that would be larger is reported without it. */
const ENTRY_BYTES_MAX = 900 * 1024;
/** A request that takes longer is sent again. */
const TIMEOUT_MS = 10_000;
/** How long a report is repeated after the end of its lease: the server may have been away that long. */
const PATIENCE_MS = 300_000;

/** An outcome that is not reported yet. */
export interface Entry {
  claim: HeldClaim;
  /** The settlement in JSON, without its log. */
  text: string;
  /** The log in JSON, until the server refuses a request with it. */
  log: string | undefined;
  giveUpAt: number;
  isRefusal: boolean;
}

/** The settlements of a request. */
export function settlementsOf(batch: readonly Entry[]): string {
  return `"settlements":[${batch.map(withLog).join(",")}]`;
}

function withLog({ text, log }: Entry): string {
  return log === undefined ? text : `${text.slice(0, -1)},"log":${log}}`;
}

/** Reports outcomes in batches, one request at a time, and repeats those whose response was lost. */
export class Settler {
  readonly #http: Http;
  readonly #logger: Logger;
  readonly #onSettled: (claims: HeldClaim[]) => void;
  readonly #abort = new AbortController();
  #waiting: Entry[] = [];
  #pending = 0;
  #loop: Promise<void> | undefined;

  constructor(http: Http, logger: Logger, onSettled: (claims: HeldClaim[]) => void) {
    this.#http = http;
    this.#logger = logger;
    this.#onSettled = onSettled;
  }

  /** How many outcomes the server has not confirmed. */
  get pending(): number {
    return this.#pending;
  }

  add(claim: HeldClaim, outcome: Omit<SettlementRequest, "id" | "fence">): void {
    this.#push(claim, outcome, false);
  }

  /** Returns when all outcomes are reported, or after this long. */
  async flush(timeoutMs: number): Promise<void> {
    const timer = setTimeout(() => this.#abort.abort(), timeoutMs);
    while (this.#loop) await this.#loop;
    clearTimeout(timer);
  }

  #push(
    claim: HeldClaim,
    outcome: Omit<SettlementRequest, "id" | "fence">,
    isRefusal: boolean,
  ): void {
    const { id, fence } = claim;
    const lines = claim.context.closeLog();
    let text: string;
    try {
      text = JSON.stringify({ id, fence, ...outcome });
    } catch (error) {
      const message = `cannot encode the result as JSON: ${(error as Error).message}`;
      const failure = { class: "result", message, permanent: true };
      text = JSON.stringify({ id, fence, outcome: "fail", failure });
    }
    const giveUpAt = performance.now() + claim.leaseMs + PATIENCE_MS;
    const log = lines && JSON.stringify(lines);
    const entry = { claim, text, log, giveUpAt, isRefusal };
    if (isTooLarge(withLog(entry))) entry.log = undefined;
    this.#waiting.push(entry);
    this.#pending += 1;
    this.#start();
  }

  /** Reports outcomes whose claim request failed. */
  report(batch: Entry[]): void {
    if (batch.length === 0) return;
    this.#waiting.unshift(...batch);
    this.#start();
  }

  #start(): void {
    this.#loop ??= new Promise<void>((resolve) => afterThisTurn(resolve)).then(() => this.#run());
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) await this.#settle(this.take());
    this.#loop = undefined;
  }

  /** The outcomes of the next request. A claim may take them along, before a request of their own. */
  take(): Entry[] {
    let length = 0;
    let count = 0;
    for (const { text, log } of this.#waiting) {
      length += text.length + (log?.length ?? 0);
      if (count === BATCH_MAX || (count > 0 && length > BATCH_LENGTH_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #settle(batch: Entry[]): Promise<void> {
    const backoff = new Backoff(100, 5_000);
    let left = batch;
    for (;;) {
      left = this.#withoutHopeless(left);
      if (left.length === 0) return;
      const body = `{${settlementsOf(left)}}`;
      try {
        const options = { signal: this.#abort.signal, timeoutMs: TIMEOUT_MS };
        const answer = await this.#http.requestOnce<SettlementList>(
          "POST",
          "/claims/settle",
          body,
          options,
        );
        return this.finish(left, checkResults(answer?.settled, left.length, "settlements"));
      } catch (error) {
        if (isRefused(error)) return this.#divide(left, error);
        const pauseMs = backoff.nextMs(error);
        const fields = { error: (error as Error).message, outcomes: left.length };
        this.#logger.warn("cannot report outcomes yet", fields);
        await pause(pauseMs, this.#abort.signal);
      }
    }
  }

  /** Takes out the one at fault, so that it does not hinder the others. */
  async #divide(batch: Entry[], error: ApiError): Promise<void> {
    const named = Number(/^settlements\[(\d+)\]/.exec(error.field ?? "")?.[1] ?? Number.NaN);
    const guilty = batch[batch.length === 1 ? 0 : named];
    if (guilty?.log !== undefined) {
      // A log must not turn a success into a failure.
      this.#logger.warn("a log was refused", { job: guilty.claim.id, error: error.message });
      guilty.log = undefined;
      guilty.claim.context.dropLog();
      return this.#settle(batch);
    }
    if (guilty) {
      this.#refuse(guilty, error.message);
      return this.#settle(batch.filter((entry) => entry !== guilty));
    }
    const half = Math.ceil(batch.length / 2);
    await this.#settle(batch.slice(0, half));
    await this.#settle(batch.slice(half));
  }

  /** Acts on the results of a request. */
  finish(batch: Entry[], results: SettlementResult[]): void {
    const settled: HeldClaim[] = [];
    for (const [index, entry] of batch.entries()) {
      const result = results[index];
      const isStale = result?.code === "stale_fence" || result?.code === "not_found";
      if (!result?.ok && !isStale) {
        this.#refuse(entry, result?.detail ?? result?.code ?? "refused");
        continue;
      }
      if (isStale) {
        const fields = { job: entry.claim.id, code: result?.code };
        this.#logger.warn("the outcome came too late: the claim has expired", fields);
      }
      settled.push(entry.claim);
    }
    this.#pending -= settled.length;
    this.#onSettled(settled);
  }

  /** An outcome that the server does not take becomes a failure that says so. */
  #refuse(entry: Entry, message: string): void {
    const fields = { job: entry.claim.id, error: message };
    this.#logger.error("the server refused an outcome", fields);
    this.#pending -= 1;
    if (entry.isRefusal) return this.#onSettled([entry.claim]);
    const reason = `the server refused the outcome: ${message}`;
    const failure = { class: "result", message: reason, permanent: true };
    this.#push(entry.claim, { outcome: "fail", failure }, true);
  }

  #withoutHopeless(batch: Entry[]): Entry[] {
    const now = performance.now();
    const isHopeless = (entry: Entry) =>
      entry.claim.isStale || now > entry.giveUpAt || this.#abort.signal.aborted;
    const hopeless = batch.filter(isHopeless).map((entry) => entry.claim);
    if (hopeless.length === 0) return batch;
    this.#logger.warn("outcomes were dropped", { jobs: hopeless.map((claim) => claim.id) });
    this.#pending -= hopeless.length;
    this.#onSettled(hopeless);
    return batch.filter((entry) => !hopeless.includes(entry.claim));
  }
}

function isTooLarge(text: string): boolean {
  return text.length > BATCH_LENGTH_MAX && new TextEncoder().encode(text).length > ENTRY_BYTES_MAX;
}

/** Whether the request is at fault, and would be refused again; a wrong key may be put right. */
function isRefused(error: unknown): error is ApiError {
  return error instanceof ApiError && !isTransient(error) && ![401, 403].includes(error.status);
}
