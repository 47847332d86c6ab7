// The rest of the API, grouped by what it is about. Each method is one operation of docs/openapi.json,
// whose types it has; `each` walks through all pages of a list.

import { checkJob, jobsOf, withKey } from "./gathering.js";
import type {
  Attempt,
  Batch,
  CreateBatchRequest,
  CreateEndpointRequest,
  CreateJobRequest,
  CreateKeyRequest,
  CreateOperationRequest,
  CreateScheduleRequest,
  DeadLettersRequest,
  Destination,
  EditEndpointRequest,
  EditJobRequest,
  EditScheduleRequest,
  FailureGroup,
  Gate,
  GateScope,
  HoldDestinationRequest,
  Job,
  Operation,
  Operations,
  RetryPolicyInput,
  RotateSecretRequest,
  Schedule,
  SetDestinationRequest,
  SetGateRequest,
} from "./generated.js";
import type { Http } from "./http.js";

type Query<Name extends keyof Operations> = Operations[Name] extends { query?: infer Q }
  ? NonNullable<Q>
  : never;

/** A job to be created; `schedules.create` makes recurring ones. */
export type JobRequest = Omit<CreateJobRequest, "schedule" | "isRecurring" | "timezone">;

interface Page {
  nextCursor?: string | null | undefined;
}

/** All items of a list, page by page. */
async function* eachItem<Answer extends Page, Item>(
  page: (after: string | undefined) => Promise<Answer>,
  items: (answer: Answer) => Item[],
): AsyncGenerator<Item, void, undefined> {
  let after: string | undefined;
  do {
    const answer: Answer = await page(after);
    yield* items(answer);
    after = answer.nextCursor ?? undefined;
  } while (after !== undefined);
}

function jobsApi(http: Http) {
  const list = (query: Query<"listJobs"> = {}) => http.call("listJobs", { query });
  const history = (id: string, query: Query<"listAttempts"> = {}) =>
    http.call("listAttempts", { path: { id }, query });
  return {
    /** Creates a job. It gets an idempotency key unless it has one, so that it can be repeated. */
    create: async (job: JobRequest): Promise<Job> => {
      const input = { body: withKey(job) };
      const options = { isRepeatable: true, check: checkJob };
      return (await http.call("createJob", input, options)) as Job;
    },
    /** Creates up to 1,000 jobs, all of them or none. */
    createMany: async (jobs: readonly JobRequest[]): Promise<Job[]> => {
      if (jobs.length === 0) return [];
      const input = { body: { jobs: jobs.map(withKey) } };
      const check = (answer: unknown) => jobsOf(answer, jobs.length);
      return jobsOf(
        await http.call("createJob", input, { isRepeatable: true, check }),
        jobs.length,
      );
    },
    get: (id: string) => http.call("getJob", { path: { id } }),
    /** The job, once it has ended or the time is over. */
    wait: (id: string, waitMs: number, signal?: AbortSignal): Promise<Job> => {
      const input = { path: { id }, query: { wait: `${Math.round(waitMs)}ms` } };
      return http.call("getJob", input, { signal, timeoutMs: waitMs + 30_000 });
    },
    list,
    each: (query: Query<"listJobs"> = {}): AsyncGenerator<Job, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.jobs,
      ),
    /** The attempts of a job or of a schedule's jobs, newest first. */
    history,
    eachAttempt: (id: string): AsyncGenerator<Attempt, void, undefined> =>
      eachItem(
        (after) => history(id, { after }),
        (page) => page.attempts,
      ),
    /** The log of an attempt, numbered from 1. */
    log: (id: string, attempt: number, from = 0) =>
      http.call("getAttemptLog", { path: { id, attempt }, query: { from } }),
    edit: (id: string, body: EditJobRequest) => http.call("editJob", { path: { id }, body }),
    cancel: (id: string) => http.call("cancelJob", { path: { id } }),
    retry: (id: string, body?: Operations["retryJob"]["body"]) =>
      http.call("retryJob", { path: { id }, body }),
    runNow: (id: string) => http.call("runJobNow", { path: { id } }),
    /** Explains why the job has not started. */
    explain: (id: string) => http.call("explainJob", { path: { id } }),
  };
}

function schedulesApi(http: Http) {
  const list = (query: Query<"listSchedules"> = {}) => http.call("listSchedules", { query });
  return {
    /** Creates a schedule, or updates the one of this name. */
    create: (body: CreateScheduleRequest) =>
      http.call("createSchedule", { body }, { isRepeatable: true }),
    get: (id: string) => http.call("getSchedule", { path: { id } }),
    list,
    each: (query: Query<"listSchedules"> = {}): AsyncGenerator<Schedule, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.schedules,
      ),
    edit: (id: string, body: EditScheduleRequest) =>
      http.call("editSchedule", { path: { id }, body }),
    delete: (id: string) => http.call("deleteSchedule", { path: { id } }),
    pause: (id: string) => http.call("pauseSchedule", { path: { id } }),
    resume: (id: string) => http.call("resumeSchedule", { path: { id } }),
    runNow: (id: string) => http.call("runScheduleNow", { path: { id } }),
    ticks: (id: string, query: Query<"listTicks"> = {}) =>
      http.call("listTicks", { path: { id }, query }),
  };
}

function deadLettersApi(http: Http) {
  const list = (query: Query<"listDeadLetters"> = {}) => http.call("listDeadLetters", { query });
  return {
    list,
    each: (query: Query<"listDeadLetters"> = {}): AsyncGenerator<Job, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.jobs,
      ),
    requeue: (body: DeadLettersRequest) => http.call("requeueDeadLetters", { body }),
    discard: (body: DeadLettersRequest) => http.call("discardDeadLetters", { body }),
  };
}

function gatesApi(http: Http) {
  const list = (query: Query<"listGates"> = {}) => http.call("listGates", { query });
  return {
    list,
    each: (query: Query<"listGates"> = {}): AsyncGenerator<Gate, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.gates,
      ),
    get: (scope: GateScope, key: string, query: Query<"getGate"> = {}) =>
      http.call("getGate", { path: { scope, key }, query }),
    /** Sets a gate to these limits and no others. */
    set: (scope: GateScope, key: string, body: SetGateRequest, query: Query<"setGate"> = {}) =>
      http.call("setGate", { path: { scope, key }, body, query }, { isRepeatable: true }),
    /** Changes the limits that the body names; null removes one. */
    edit: (scope: GateScope, key: string, body: SetGateRequest, query: Query<"editGate"> = {}) =>
      http.call("editGate", { path: { scope, key }, body, query }),
    delete: (scope: GateScope, key: string, query: Query<"deleteGate"> = {}) =>
      http.call("deleteGate", { path: { scope, key }, query }),
  };
}

function destinationsApi(http: Http) {
  const list = (query: Query<"listDestinations"> = {}) => http.call("listDestinations", { query });
  return {
    list,
    each: (query: Query<"listDestinations"> = {}): AsyncGenerator<Destination, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.destinations,
      ),
    get: (key: string, query: Query<"getDestination"> = {}) =>
      http.call("getDestination", { path: { key }, query }),
    set: (key: string, body: SetDestinationRequest, query: Query<"setDestination"> = {}) =>
      http.call("setDestination", { path: { key }, body, query }),
    /** Changes the settings that the body names; null resets one to its default. */
    edit: (key: string, body: SetDestinationRequest, query: Query<"editDestination"> = {}) =>
      http.call("editDestination", { path: { key }, body, query }),
    /** Holds its jobs back, as if it had been found unhealthy. */
    hold: (key: string, body: HoldDestinationRequest = {}) =>
      http.call("holdDestination", { path: { key }, body }),
    release: (key: string) => http.call("releaseDestination", { path: { key } }),
  };
}

function batchesApi(http: Http) {
  const list = (query: Query<"listBatches"> = {}) => http.call("listBatches", { query });
  const jobs = (id: string, query: Query<"listBatchJobs"> = {}) =>
    http.call("listBatchJobs", { path: { id }, query });
  return {
    /** Creates a batch, with jobs or open for jobs that follow. */
    create: (body: CreateBatchRequest) =>
      http.call("createBatch", { body: withKey(body) }, { isRepeatable: true }),
    /** Adds up to 1,000 jobs to an open batch, all of them or none. */
    add: (id: string, jobs: readonly JobRequest[]) =>
      http.call(
        "addBatchJobs",
        { path: { id }, body: { jobs: jobs.map(withKey) } },
        { isRepeatable: true },
      ),
    /** No further job can be added. */
    close: (id: string) => http.call("closeBatch", { path: { id } }, { isRepeatable: true }),
    get: (id: string) => http.call("getBatch", { path: { id } }),
    list,
    each: (query: Query<"listBatches"> = {}): AsyncGenerator<Batch, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.batches,
      ),
    jobs,
    eachJob: (
      id: string,
      query: Query<"listBatchJobs"> = {},
    ): AsyncGenerator<Job, void, undefined> =>
      eachItem(
        (after) => jobs(id, { ...query, ...(after !== undefined && { after }) }),
        (page) => page.jobs,
      ),
  };
}

function failuresApi(http: Http) {
  const list = (query: Query<"listFailures"> = {}) => http.call("listFailures", { query });
  return {
    list,
    each: (query: Query<"listFailures"> = {}): AsyncGenerator<FailureGroup, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.failures,
      ),
    get: (fingerprint: string, query: Query<"getFailure"> = {}) =>
      http.call("getFailure", { path: { fingerprint }, query }),
    /** Says that a failure is known, or fixed. */
    mark: (
      fingerprint: string,
      body: Operations["markFailure"]["body"],
      query: Query<"markFailure"> = {},
    ) => http.call("markFailure", { path: { fingerprint }, body, query }),
  };
}

function operationsApi(http: Http) {
  const list = (query: Query<"listOperations"> = {}) => http.call("listOperations", { query });
  return {
    create: (body: CreateOperationRequest) => http.call("createOperation", { body }),
    get: (id: string) => http.call("getOperation", { path: { id } }),
    list,
    each: (query: Query<"listOperations"> = {}): AsyncGenerator<Operation, void, undefined> =>
      eachItem(
        (after) => list({ ...query, ...(after !== undefined && { after }) }),
        (page) => page.operations,
      ),
    jobs: (id: string, query: Query<"listOperationJobs"> = {}) =>
      http.call("listOperationJobs", { path: { id }, query }),
    pause: (id: string) => http.call("pauseOperation", { path: { id } }),
    resume: (id: string) => http.call("resumeOperation", { path: { id } }),
    cancel: (id: string) => http.call("cancelOperation", { path: { id } }),
  };
}

/** The operations of the API, in groups. */
export function groupsOf(http: Http) {
  return {
    jobs: jobsApi(http),
    schedules: schedulesApi(http),
    deadLetters: deadLettersApi(http),
    /** Limits for the jobs of a queue, kind, tenant, destination or concurrency key. */
    gates: gatesApi(http),
    /** The systems that jobs call, and their health. */
    destinations: destinationsApi(http),
    batches: batchesApi(http),
    /** Failures that have the same cause. */
    failures: failuresApi(http),
    /** Work on many jobs. */
    operations: operationsApi(http),
    /** The commands that were given, by whom and when. */
    audit: {
      list: (query: Query<"listAudit"> = {}) => http.call("listAudit", { query }),
    },
    queues: {
      list: (query: Query<"listQueues"> = {}) => http.call("listQueues", { query }),
      /** Explains why jobs of a queue have not started. */
      explain: (name: string, query: Query<"explainQueue"> = {}) =>
        http.call("explainQueue", { path: { name }, query }),
      pause: (
        name: string,
        query: Query<"pauseQueue"> = {},
        body?: Operations["pauseQueue"]["body"],
      ) => http.call("pauseQueue", { path: { name }, query, body }),
      resume: (name: string, query: Query<"resumeQueue"> = {}) =>
        http.call("resumeQueue", { path: { name }, query }),
    },
    cloudEvents: {
      /** Creates a job from an event; a repeated one returns its job. */
      receive: (
        body: Operations["receiveCloudEvents"]["body"],
        query: Query<"receiveCloudEvents"> = {},
      ) => http.call("receiveCloudEvents", { body, query }, { isRepeatable: true }),
    },
    endpoints: {
      create: (body: CreateEndpointRequest) => http.call("createEndpoint", { body }),
      list: (query: Query<"listEndpoints"> = {}) => http.call("listEndpoints", { query }),
      get: (id: string) => http.call("getEndpoint", { path: { id } }),
      edit: (id: string, body: EditEndpointRequest) =>
        http.call("editEndpoint", { path: { id }, body }),
      delete: (id: string) => http.call("deleteEndpoint", { path: { id } }),
      disable: (id: string) => http.call("disableEndpoint", { path: { id } }),
      enable: (id: string) => http.call("enableEndpoint", { path: { id } }),
      /** Sends an event that is for this test only. */
      test: (id: string) => http.call("testEndpoint", { path: { id } }),
      deliveries: (id: string, query: Query<"listDeliveries"> = {}) =>
        http.call("listDeliveries", { path: { id }, query }),
      /** Sends a delivery again, by the id of its job. */
      resend: (id: string) => http.call("resendDelivery", { path: { id } }),
      rotateSecret: (id: string, body?: RotateSecretRequest) =>
        http.call("rotateEndpointSecret", { path: { id }, body }),
    },
    keys: {
      create: (body: CreateKeyRequest) => http.call("createKey", { body }),
      list: (query: Query<"listKeys"> = {}) => http.call("listKeys", { query }),
      revoke: (id: string) => http.call("revokeKey", { path: { id } }),
    },
    /** Values that headers of HTTP jobs and endpoints name. */
    secrets: {
      set: (name: string, value: string, query: Query<"setSecret"> = {}) =>
        http.call("setSecret", { path: { name }, query, body: { value } }),
      list: (query: Query<"listSecrets"> = {}) => http.call("listSecrets", { query }),
      delete: (name: string, query: Query<"deleteSecret"> = {}) =>
        http.call("deleteSecret", { path: { name }, query }),
    },
    policies: {
      /** The attempts of a job that always fails at once, with this policy. */
      preview: (retry: RetryPolicyInput) => http.call("previewPolicy", { body: { retry } }),
      /** The effect that another policy would have had on recorded attempts. */
      replay: (body: Operations["replayPolicy"]["body"]) => http.call("replayPolicy", { body }),
      /** Whether a system recovers by itself after outages. */
      certify: (body: Operations["certifyPolicy"]["body"]) => http.call("certifyPolicy", { body }),
      /** Keeps a certificate, which a node computes again every hour. */
      keepCertificate: (name: string, body: Operations["keepCertificate"]["body"]) =>
        http.call("keepCertificate", { path: { name }, body }),
      listCertificates: (query: Query<"listCertificates"> = {}) =>
        http.call("listCertificates", { query }),
      deleteCertificate: (name: string, query: Query<"deleteCertificate"> = {}) =>
        http.call("deleteCertificate", { path: { name }, query }),
    },
    alerts: {
      list: (query: Query<"listAlerts"> = {}) => http.call("listAlerts", { query }),
      acknowledge: (body: Operations["acknowledgeAlerts"]["body"]) =>
        http.call("acknowledgeAlerts", { body }),
      silence: (body: Operations["silenceAlerts"]["body"]) => http.call("silenceAlerts", { body }),
    },
    /** Processes that claim jobs over HTTP. */
    workers: {
      list: (query: Query<"listWorkers"> = {}) => http.call("listWorkers", { query }),
    },
    nodes: {
      list: (query: Query<"listNodes"> = {}) => http.call("listNodes", { query }),
    },
    stats: {
      get: (query: Query<"getStats"> = {}) => http.call("getStats", { query }),
      minutes: (query: Query<"listMinuteStats"> = {}) => http.call("listMinuteStats", { query }),
      /** Jobs that become due in the next minutes. */
      forecast: (query: Query<"getForecast"> = {}) => http.call("getForecast", { query }),
    },
  };
}

export type ApiGroups = ReturnType<typeof groupsOf>;
