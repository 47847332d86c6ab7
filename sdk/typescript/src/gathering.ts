import { ApiError, ConnectionError } from "./errors.js";
import type { CreateJobRequest, Job, JobList } from "./generated.js";
import { type Http, isTransient } from "./http.js";
import { afterThisTurn } from "./runtime.js";

/** The server takes as many at once. */
const JOBS_MAX = 1_000;
/** At most three bytes each in UTF-8: below the server's limit of 1 MiB for a request. */
const LENGTH_MAX = 300_000;

interface Entry {
  request: CreateJobRequest;
  text: string;
  resolve: (job: Job) => void;
  reject: (error: unknown) => void;
}

/**
 * Creates jobs. Those that are enqueued in one turn of the event loop share a request: the server syncs
 * its disk once for a request, however many jobs it has.
 */
export class Gathering {
  readonly #http: Http;
  #waiting: Entry[] = [];

  constructor(http: Http) {
    this.#http = http;
  }

  /** Creates a job that is new. It must have an idempotency key, because its request may be repeated. */
  create(request: CreateJobRequest): Promise<Job> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, text: JSON.stringify(request), resolve, reject });
      if (this.#waiting.length === 1) afterThisTurn(() => this.#flush());
    });
  }

  #flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    let part: Entry[] = [];
    let length = 0;
    for (const entry of waiting) {
      length += entry.text.length;
      if (part.length === JOBS_MAX || (part.length > 0 && length > LENGTH_MAX)) {
        void this.#send(part);
        part = [];
        length = entry.text.length;
      }
      part.push(entry);
    }
    void this.#send(part);
  }

  async #send(part: Entry[]): Promise<void> {
    try {
      const jobs = await this.#create(part);
      for (const [index, entry] of part.entries()) {
        // The answer to a request for several jobs has no payloads.
        entry.resolve({ ...(jobs[index] as Job), payload: entry.request.payload });
      }
    } catch (error) {
      const isOneAtFault = error instanceof ApiError && !isTransient(error) && part.length > 1;
      // The others must not fail because of it.
      if (isOneAtFault) for (const entry of part) void this.#send([entry]);
      else for (const entry of part) entry.reject(error);
    }
  }

  async #create(part: Entry[]): Promise<Job[]> {
    const [first] = part;
    if (first && part.length === 1) {
      const options = { isRepeatable: true, check: checkJob };
      return [await this.#http.request<Job>("POST", "/jobs", first.text, options)];
    }
    const body = `{"jobs":[${part.map(({ text }) => text).join(",")}]}`;
    const check = (answer: unknown) => jobsOf(answer, part.length);
    const options = { isRepeatable: true, check };
    return jobsOf(await this.#http.request("POST", "/jobs", body, options), part.length);
  }
}

/** A proxy, or a server that is broken, may answer anything. */
export function checkJob(answer: unknown): void {
  if (typeof (answer as Partial<Job> | undefined)?.id !== "string") {
    throw new ConnectionError("an unexpected answer: not a job");
  }
}

/** The jobs that a request for several has created. */
export function jobsOf(answer: unknown, count: number): Job[] {
  const jobs: unknown = (answer as JobList | undefined)?.jobs;
  if (!Array.isArray(jobs) || jobs.length !== count) {
    throw new ConnectionError("an unexpected answer: not one job for each request");
  }
  for (const job of jobs) checkJob(job);
  return jobs;
}

/** The request with an idempotency key, its own or a new one, so that it can be repeated. */
export function withKey<Request extends { idempotencyKey?: string | null | undefined }>(
  request: Request,
): Request {
  if (request.idempotencyKey != null) return request;
  return { ...request, idempotencyKey: crypto.randomUUID() };
}
