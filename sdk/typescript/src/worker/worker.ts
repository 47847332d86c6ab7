import { Backoff, pause } from "../backoff.js";
import type { Middleware } from "../context.js";
import { type DurationInput, durationMs } from "../duration.js";
import { type Claim, type ClaimJobsRequest, type ClaimList, OPERATIONS } from "../generated.js";
import { type Http, isTransient } from "../http.js";
import type { AnyJob } from "../job.js";
import type { Logger } from "../logger.js";
import { hostName, nodeProcess } from "../runtime.js";
import { LIBRARY } from "../version.js";
import { checkClaims, checkResults } from "./answers.js";
import { Executor, type Outcome } from "./executor.js";
import { failureOf } from "./failure.js";
import { Heartbeats } from "./heartbeats.js";
import { HeldClaim } from "./held-claim.js";
import { type Entry, Settler, settlementsOf } from "./settler.js";
import { listenForSignals } from "./signals.js";
import { Slots } from "./slots.js";

export interface WorkerOptions {
  /** The jobs that this worker runs; at most 100 kinds. */
  jobs: readonly AnyJob[];
  /** Maximum number of handlers that run at once; 10 by default. */
  concurrency?: number | undefined;
  /** Queues to claim from; all by default. */
  queues?: readonly string[] | undefined;
  /** Name of the worker, shown with every attempt; by default host, process and a random part. */
  name?: string | undefined;
  /** The version of the application, shown with the worker. */
  version?: string | undefined;
  /** Lease duration, instead of each job's own lease. */
  lease?: DurationInput | undefined;
  /** Grace period for running handlers when the worker stops; 30 s by default. */
  grace?: DurationInput | undefined;
  /** Wrapped around every handler, the first outermost. */
  middleware?: readonly Middleware[] | undefined;
  logger?: Logger | undefined;
  /** Only this tenant. Requires a key for all tenants. */
  tenant?: string | undefined;
  /** Whether SIGTERM and SIGINT stop the worker; by default they do. */
  signals?: boolean | undefined;
}

/** How long the server may let a claim wait for a job. */
const WAIT_MS = 20_000;
const KINDS_MAX = 100;
const CLAIMS_MAX = 1_000;
/** An empty answer comes after the wait. One that comes sooner is from a server that cannot wait now. */
const EMPTY_MS_MIN = 1_000;
/** How long the answer to a claim takes if jobs are due. */
const CLAIM_MS = 1_200;
/** While more outcomes than this wait to be reported, no job is claimed. */
const UNREPORTED_MAX = 5_000;
const UNREPORTED_PAUSE_MS = 20;
/** How long handlers that were aborted at the end of the grace may take to return. */
const ABORT_MS = 500;
/** How long the last outcomes may take to report after the grace. */
const FLUSH_MS_MIN = 5_000;

/** Claims jobs and runs their handlers until it is stopped. */
export class Worker {
  readonly name: string;
  readonly #http: Http;
  readonly #logger: Logger;
  readonly #executor: Executor;
  readonly #slots: Slots;
  readonly #graceMs: number;
  readonly #leaseMs: number | undefined;
  readonly #request: ClaimJobsRequest;
  readonly #handleSignals: boolean;
  readonly #stop = new AbortController();
  readonly #held = new Map<string, HeldClaim>();
  readonly #settler: Settler;
  #heartbeats!: Heartbeats;
  #stoppedAt = 0;
  #hasClaimed = false;
  /** Names this process, so that claims of a response that got lost go back at once. */
  readonly #session = crypto.randomUUID();
  #sequence = 0;
  #received = 0;
  #run: Promise<void> | undefined;

  constructor(http: Http, logger: Logger, options: WorkerOptions) {
    const { jobs, concurrency = 10, queues = [], grace = "30s", lease, tenant, version } = options;
    if (!Number.isInteger(concurrency) || concurrency < 1) {
      throw new TypeError(`concurrency: ${concurrency} must be a whole number above 0`);
    }
    if (jobs.length === 0 || jobs.length > KINDS_MAX) {
      throw new TypeError(`jobs: a worker runs 1 to ${KINDS_MAX} kinds, not ${jobs.length}`);
    }
    this.#http = http;
    this.#logger = options.logger ?? logger;
    this.#executor = new Executor(jobs, this.#logger, options.middleware);
    this.#slots = new Slots(concurrency);
    this.#graceMs = durationMs(grace, "grace");
    this.#leaseMs = lease === undefined ? undefined : Math.ceil(durationMs(lease, "lease"));
    this.#handleSignals = options.signals ?? true;
    this.name = options.name ?? defaultName();
    this.#request = {
      worker: this.name,
      kinds: this.#executor.kinds,
      confirms: this.#executor.confirms,
      queues: [...queues],
      wait: WAIT_MS,
      ...(this.#leaseMs !== undefined && { lease: this.#leaseMs }),
      ...(tenant !== undefined && { tenant }),
      workerInfo: { concurrency, library: LIBRARY, version, host: hostName() },
    };
    this.#settler = new Settler(http, this.#logger, (claims) => this.#forget(claims));
  }

  /** Runs until `stop` is called or a signal arrives, and returns when all work is settled. */
  run(): Promise<void> {
    this.#run ??= this.#runOnce();
    return this.#run;
  }

  /** Stops in order: no further claim; handlers may finish within the grace; the rest is given back. */
  stop(): Promise<void> {
    if (!this.#stop.signal.aborted) {
      this.#stoppedAt = performance.now();
      this.#logger.info("worker stops", { worker: this.name, running: this.#slots.taken });
      this.#stop.abort();
    }
    return this.#run ?? Promise.resolve();
  }

  async #runOnce(): Promise<void> {
    this.#heartbeats = new Heartbeats({
      http: this.#http,
      logger: this.#logger,
      worker: this.name,
      leaseMs: this.#leaseMs,
      onNews: ({ id, fence, what }) => this.#held.get(`${id} ${fence}`)?.receive(what),
    });
    const stopListening = this.#handleSignals ? listenForSignals(() => this.stop()) : () => {};
    this.#logger.info("worker runs", { worker: this.name, kinds: this.#request.kinds });
    try {
      await this.#claimUntilStopped();
    } finally {
      if (!this.#stop.signal.aborted) this.stop();
      await this.#finish();
      await this.#heartbeats.stop();
      stopListening();
    }
    this.#logger.info("worker stopped", { worker: this.name });
  }

  async #claimUntilStopped(): Promise<void> {
    const { signal } = this.#stop;
    const backoff = new Backoff(100, 5_000);
    while (!signal.aborted) {
      await this.#slots.waitForRoom(signal);
      while (this.#settler.pending > UNREPORTED_MAX && !signal.aborted)
        await pause(UNREPORTED_PAUSE_MS, signal);
      if (signal.aborted) return;
      try {
        const sentAt = performance.now();
        const outcomes = this.#settler.take();
        const claims = await this.#claim(this.#slots.free, outcomes);
        this.#hasClaimed = true;
        this.#accept(claims);
        const isEmpty = claims.length === 0 && outcomes.length === 0;
        const isTooEarly = isEmpty && performance.now() < sentAt + EMPTY_MS_MIN;
        if (isTooEarly) await pause(backoff.nextMs(), signal);
        else backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        // A wrong key, address or certificate is found at the start; later the server may be replaced.
        if (!this.#hasClaimed && !isTransient(error)) throw error;
        const pauseMs = backoff.nextMs(error);
        const fields = { worker: this.name, error: (error as Error).message };
        this.#logger.warn("jobs could not be claimed", fields);
        await pause(pauseMs, signal);
      }
    }
  }

  /** Claims jobs, and reports outcomes in the same request; with outcomes, the server does not wait. */
  async #claim(free: number, outcomes: Entry[]): Promise<Claim[]> {
    this.#sequence += 1;
    const sequence = this.#sequence;
    const session = { id: this.#session, sequence, received: this.#received };
    const max = Math.min(free, CLAIMS_MAX);
    const head = JSON.stringify({ ...this.#request, max, session } satisfies ClaimJobsRequest);
    const isBare = outcomes.length === 0;
    const body = isBare ? head : `${head.slice(0, -1)},${settlementsOf(outcomes)}}`;
    const sentAt = performance.now();
    const request = new AbortController();
    // A stop cuts off a claim that waits for a job. One that was sent just now may be answered with
    // jobs at this moment: they are given back, instead of being held until their leases expire.
    const cutOff = async () => {
      await pause(sentAt + CLAIM_MS - performance.now(), request.signal);
      request.abort();
    };
    this.#stop.signal.addEventListener("abort", cutOff);
    try {
      const options = { signal: request.signal, timeoutMs: WAIT_MS + 10_000 };
      const path = OPERATIONS.claimJobs[1];
      const answer = await this.#http.requestOnce<ClaimList>("POST", path, body, options);
      const claims = checkClaims(answer?.claims);
      const results = checkResults(answer.settled ?? [], outcomes.length, "settlements");
      this.#received = sequence;
      if (outcomes.length > 0) this.#settler.finish(outcomes, results);
      return claims;
    } catch (error) {
      this.#settler.report(outcomes);
      throw error;
    } finally {
      request.abort();
      this.#stop.signal.removeEventListener("abort", cutOff);
    }
  }

  #accept(claims: Claim[]): void {
    if (claims.length === 0) return;
    const settings = {
      http: this.#http,
      logger: this.#logger,
      worker: this.name,
      leaseMs: this.#leaseMs,
      stopping: this.#stop.signal,
    };
    const accepted = claims.map((claim) => new HeldClaim(claim, settings));
    for (const claim of accepted) this.#held.set(`${claim.id} ${claim.fence}`, claim);
    this.#heartbeats.hold(accepted.map(({ id, fence, leaseMs }) => ({ id, fence, leaseMs })));
    if (this.#stop.signal.aborted) {
      const jobs = accepted.map(({ id }) => id);
      this.#logger.info("releasing jobs claimed after the stop", { jobs });
      for (const claim of accepted) this.#giveBack(claim);
      return;
    }
    for (const claim of accepted) this.#execute(claim);
  }

  async #execute(claim: HeldClaim): Promise<void> {
    this.#slots.take();
    let outcome: Outcome;
    try {
      outcome = await this.#executor.execute(claim.context);
    } catch (error) {
      // What is not the handler's, such as a logger that throws, must not end the worker.
      outcome = { outcome: "fail", failure: failureOf(error) };
    } finally {
      this.#slots.release();
    }
    if (claim.isReported) return;
    claim.isReported = true;
    if (!outcome || claim.isStale) {
      claim.context.closeLog();
      return this.#forget([claim]);
    }
    this.#settler.add(claim, outcome);
    const { id: job, kind, attempt } = claim.context.job;
    if (outcome.outcome === "fail") {
      const { class: failureClass, message: error } = outcome.failure ?? {};
      this.#logger.warn("attempt failed", { job, kind, attempt, class: failureClass, error });
    } else {
      this.#logger.debug("attempt ended", { job, kind, attempt, outcome: outcome.outcome });
    }
  }

  #giveBack(claim: HeldClaim): void {
    claim.isReported = true;
    this.#settler.add(claim, { outcome: "release" });
  }

  #forget(claims: HeldClaim[]): void {
    for (const claim of claims) this.#held.delete(`${claim.id} ${claim.fence}`);
    this.#heartbeats.drop(claims.map(({ id, fence, leaseMs }) => ({ id, fence, leaseMs })));
  }

  /** The second half of a stop: wait, abort, give back, report. */
  async #finish(): Promise<void> {
    await this.#slots.waitForIdle(this.#graceLeftMs());
    const unfinished = this.#unfinished();
    if (unfinished.length > 0) {
      const jobs = unfinished.map(({ id }) => id);
      this.#logger.warn("the grace period is over: releasing jobs", { worker: this.name, jobs });
      for (const claim of unfinished) claim.context.abort("shutdown");
      await this.#slots.waitForIdle(ABORT_MS);
    }
    const deaf = this.#unfinished();
    if (deaf.length > 0) {
      const fields = { worker: this.name, jobs: deaf.map(({ id }) => id) };
      this.#logger.warn("handlers ignore their signal and keep the process alive", fields);
    }
    for (const claim of deaf) this.#giveBack(claim);
    await this.#settler.flush(Math.max(this.#graceLeftMs(), FLUSH_MS_MIN));
  }

  #unfinished(): HeldClaim[] {
    return [...this.#held.values()].filter((claim) => !claim.isReported);
  }

  #graceLeftMs(): number {
    return Math.max(0, this.#stoppedAt + this.#graceMs - performance.now());
  }
}

function defaultName(): string {
  const random = Math.random().toString(36).slice(2, 8);
  const host = (hostName() ?? "worker").replace(/[^A-Za-z0-9_.-]/g, "-").slice(0, 80);
  return [host, nodeProcess?.pid, random].filter((part) => part !== undefined).join("-");
}
