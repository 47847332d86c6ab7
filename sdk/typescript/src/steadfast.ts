import { type ApiGroups, groupsOf } from "./api.js";
import { Gathering } from "./gathering.js";
import type { Operations } from "./generated.js";
import { type CallInput, type CallOptions, type Fetch, Http } from "./http.js";
import { JobDefinition, type JobOptions } from "./job.js";
import type { JsonOnly } from "./json.js";
import { jsonLogger, type Logger } from "./logger.js";
import { nodeFetch } from "./node-fetch.js";
import { environment, nodeHttp, trustedCertificates } from "./runtime.js";
import type { SchemaInput, SchemaOutput, StandardSchema } from "./schema.js";
import { Worker, type WorkerOptions } from "./worker/worker.js";

export interface SteadfastOptions {
  /** The server's address: by default `STEADFAST_URL`, or else http://127.0.0.1:7373. */
  url?: string | undefined;
  /** By default `STEADFAST_API_KEY`. A server on this machine may need none. */
  apiKey?: string | undefined;
  logger?: Logger | undefined;
  /** In place of the global `fetch`. A worker then has no thread of its own for heartbeats. */
  fetch?: Fetch | undefined;
}

/** A client of one server: defines jobs, creates workers, and has the rest of the API. */
export class Steadfast implements ApiGroups {
  readonly http: Http;
  /** Creates jobs that are enqueued at the same moment with one request. */
  readonly gathering: Gathering;
  readonly logger: Logger;
  readonly jobs: ApiGroups["jobs"];
  readonly schedules: ApiGroups["schedules"];
  readonly deadLetters: ApiGroups["deadLetters"];
  readonly gates: ApiGroups["gates"];
  readonly destinations: ApiGroups["destinations"];
  readonly batches: ApiGroups["batches"];
  readonly cloudEvents: ApiGroups["cloudEvents"];
  readonly failures: ApiGroups["failures"];
  readonly operations: ApiGroups["operations"];
  readonly audit: ApiGroups["audit"];
  readonly queues: ApiGroups["queues"];
  readonly endpoints: ApiGroups["endpoints"];
  readonly secrets: ApiGroups["secrets"];
  readonly keys: ApiGroups["keys"];
  readonly policies: ApiGroups["policies"];
  readonly alerts: ApiGroups["alerts"];
  readonly workers: ApiGroups["workers"];
  readonly nodes: ApiGroups["nodes"];
  readonly stats: ApiGroups["stats"];

  constructor(options: SteadfastOptions = {}) {
    const url = options.url ?? environment("STEADFAST_URL") ?? "http://127.0.0.1:7373";
    this.logger = options.logger ?? jsonLogger;
    this.http = new Http({
      url: url.replace(/\/+$/, ""),
      apiKey: options.apiKey ?? environment("STEADFAST_API_KEY"),
      fetch: options.fetch ?? defaultFetch(),
      isFetchCustom: options.fetch !== undefined,
    });
    this.gathering = new Gathering(this.http);
    const groups = groupsOf(this.http);
    this.jobs = groups.jobs;
    this.schedules = groups.schedules;
    this.deadLetters = groups.deadLetters;
    this.gates = groups.gates;
    this.destinations = groups.destinations;
    this.batches = groups.batches;
    this.cloudEvents = groups.cloudEvents;
    this.failures = groups.failures;
    this.operations = groups.operations;
    this.audit = groups.audit;
    this.queues = groups.queues;
    this.endpoints = groups.endpoints;
    this.secrets = groups.secrets;
    this.keys = groups.keys;
    this.policies = groups.policies;
    this.alerts = groups.alerts;
    this.workers = groups.workers;
    this.nodes = groups.nodes;
    this.stats = groups.stats;
  }

  /** Defines a job whose payload a schema describes. */
  job<Schema extends StandardSchema, Result>(
    kind: string,
    options: { payload: Schema } & JobOptions<SchemaOutput<Schema>, Result>,
  ): JobDefinition<SchemaInput<Schema>, SchemaOutput<Schema>, Result>;
  /** Defines a job whose payload is not checked: its type is that of the handler's argument. */
  job<Payload, Result>(
    kind: string,
    options: JobOptions<Payload, Result> & { run?: JsonOnly<Payload> },
  ): JobDefinition<Payload, Payload, Result>;
  job<Payload, Result>(
    kind: string,
    options: JobOptions<Payload, Result> & { payload?: StandardSchema },
  ): JobDefinition<Payload, Payload, Result> {
    return new JobDefinition(this, kind, options);
  }

  /** Creates a worker that claims and runs jobs of these kinds. */
  worker(options: WorkerOptions): Worker {
    return new Worker(this.http, this.logger, options);
  }

  /** Calls an operation of the API by the name it has in the OpenAPI document. */
  call<Name extends keyof Operations>(
    name: Name,
    input: CallInput<Name>,
    options?: CallOptions,
  ): Promise<Operations[Name]["answer"]> {
    return this.http.call(name, input, options);
  }
}

function defaultFetch(): Fetch {
  const http = nodeHttp("node:http");
  const https = nodeHttp("node:https");
  if (http && https) return nodeFetch(http, https, trustedCertificates());
  return (url, request) => fetch(url, request);
}
