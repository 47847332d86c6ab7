// A server in the shape of a function, for tests of workers.
import {
  type ClaimList,
  type HeartbeatEntry,
  type Logger,
  type SettlementRequest,
  Steadfast,
} from "steadfast-jobs";

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
export const turn = () => new Promise((resolve) => setImmediate(resolve));
export const never = new Promise<never>(() => {});

export interface Call {
  path: string;
  body: { max?: number; settlements?: SettlementRequest[]; claims?: HeartbeatEntry[] };
}

/** A server in the shape of a function that answers each request of a worker. */
export function scripted(answer: (call: Call, calls: Call[]) => unknown, logger = quiet) {
  const calls: Call[] = [];
  const confirmed: SettlementRequest[] = [];
  const client = new Steadfast({
    url: "http://scripted",
    logger,
    fetch: async (url, request) => {
      const body = request.body === undefined ? {} : JSON.parse(request.body);
      const call = { path: new URL(url).pathname.slice(7), body };
      calls.push(call);
      const aborted = new Promise<never>((_resolve, reject) => {
        request.signal?.addEventListener("abort", () => reject(new Error("cut off")));
      });
      const value = await Promise.race([answer(call, calls), aborted]);
      if (call.path === "/claims/settle" && !(value instanceof Response)) {
        confirmed.push(...(call.body.settlements ?? []));
      }
      return value instanceof Response ? value : Response.json(value);
    },
  });
  const of = (path: string) => calls.filter((call) => call.path === path);
  return { client, calls, confirmed, of };
}

export function claims(count: number, kind: string): ClaimList {
  const list = Array.from({ length: count }, (_, index) => {
    const job = { id: `job_${index}`, kind, attempt: 1, leaseMs: 30_000, payload: index };
    return { id: job.id, fence: 1, job };
  });
  return { claims: list } as unknown as ClaimList;
}

export const settled = ({ body }: Call) => ({
  settled: body.settlements?.map(({ id }) => ({ id, ok: true })),
});
