// The rest of the API, grouped by what it is about. Each method is one operation of docs/openapi.json,
// whose types it has; `each` walks through all pages of a list.

import type {
  Attempt,
  CreateEndpointRequest,
  CreateJobRequest,
  CreateKeyRequest,
  CreateScheduleRequest,
  DeadLettersRequest,
  Destination,
  EditJobRequest,
  EditScheduleRequest,
  Gate,
  GateScope,
  HoldDestinationRequest,
  Job,
  JobList,
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
    /** Creates a job. With an idempotency key, a request whose response was lost is repeated. */
    create: async (job: JobRequest): Promise<Job> => {
      const isRepeatable = job.idempotencyKey != null;
      return (await http.call("createJob", { body: job }, { isRepeatable })) as Job;
    },
    /** Creates up to 1,000 jobs, all of them or none. */
    createMany: async (jobs: JobRequest[]): Promise<Job[]> => {
      const isRepeatable = jobs.every((job) => job.idempotencyKey != null);
      const answer = await http.call("createJob", { body: { jobs } }, { isRepeatable });
      return (answer as JobList).jobs;
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
    edit: (id: string, body: EditJobRequest) => http.call("editJob", { path: { id }, body }),
    cancel: (id: string) => http.call("cancelJob", { path: { id } }),
    retry: (id: string, body?: Operations["retryJob"]["body"]) =>
      http.call("retryJob", { path: { id }, body }),
    runNow: (id: string) => http.call("runJobNow", { path: { id } }),
    /** Why the job has not started yet, and what would let it. */
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
    /** Changes the settings that the body names; null makes one as by default. */
    edit: (key: string, body: SetDestinationRequest, query: Query<"editDestination"> = {}) =>
      http.call("editDestination", { path: { key }, body, query }),
    /** Holds its jobs back, as if it had been found unhealthy. */
    hold: (key: string, body: HoldDestinationRequest = {}) =>
      http.call("holdDestination", { path: { key }, body }),
    release: (key: string) => http.call("releaseDestination", { path: { key } }),
  };
}

/** The groups of the API that do not need more than a line for each operation. */
export function groupsOf(http: Http) {
  return {
    jobs: jobsApi(http),
    schedules: schedulesApi(http),
    deadLetters: deadLettersApi(http),
    /** What limits the jobs of a queue, kind, tenant, destination or concurrency key. */
    gates: gatesApi(http),
    /** The systems that jobs call, and how they are. */
    destinations: destinationsApi(http),
    queues: {
      list: (query: Query<"listQueues"> = {}) => http.call("listQueues", { query }),
      /** What holds back the jobs of a queue. */
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
    endpoints: {
      create: (body: CreateEndpointRequest) => http.call("createEndpoint", { body }),
      list: (query: Query<"listEndpoints"> = {}) => http.call("listEndpoints", { query }),
      delete: (id: string) => http.call("deleteEndpoint", { path: { id } }),
      rotateSecret: (id: string, body?: RotateSecretRequest) =>
        http.call("rotateEndpointSecret", { path: { id }, body }),
    },
    keys: {
      create: (body: CreateKeyRequest) => http.call("createKey", { body }),
      list: (query: Query<"listKeys"> = {}) => http.call("listKeys", { query }),
      revoke: (id: string) => http.call("revokeKey", { path: { id } }),
    },
    policies: {
      /** What a policy would do to a job that always fails at once. */
      preview: (retry: RetryPolicyInput) => http.call("previewPolicy", { body: { retry } }),
    },
    alerts: {
      list: (query: Query<"listAlerts"> = {}) => http.call("listAlerts", { query }),
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
    },
  };
}

export type ApiGroups = ReturnType<typeof groupsOf>;
