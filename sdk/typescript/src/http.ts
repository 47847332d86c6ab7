import { Backoff, pause } from "./backoff.js";
import { ApiError, ConnectionError } from "./errors.js";
import { OPERATIONS, type Operations, type Problem } from "./generated.js";

/** A request as it is sent: text with headers. */
export interface HttpRequest {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal: AbortSignal;
}

/** The part of a `Response` that is used. */
export interface HttpResponse {
  readonly status: number;
  readonly ok: boolean;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** Sends a request; the global `fetch` is one. */
export type Fetch = (url: string, request: HttpRequest) => Promise<HttpResponse>;

export interface HttpSettings {
  url: string;
  apiKey: string | undefined;
  fetch: Fetch;
  /** Whether the caller gave a `fetch` of its own, which a thread could not use. */
  isFetchCustom: boolean;
}

export interface CallOptions {
  /** Ends the request early. */
  signal?: AbortSignal | undefined;
  /** The timeout of the response. */
  timeoutMs?: number | undefined;
  /** Whether the request may be sent again if its response was lost. By default all but POST may. */
  isRepeatable?: boolean | undefined;
  /** Throws if the answer has another shape than expected, which is like no answer. */
  check?: ((answer: unknown) => void) | undefined;
}

/** The input of an operation: path, query and body. */
export type CallInput<Name extends keyof Operations> = Omit<Operations[Name], "answer">;

const TIMEOUT_MS = 30_000;
const TRIES_MAX = 4;

/** Requests to the API of one server. */
export class Http {
  readonly settings: HttpSettings;

  constructor(settings: HttpSettings) {
    this.settings = settings;
  }

  /** Calls an operation of the API by its name. */
  call<Name extends keyof Operations>(
    name: Name,
    input: CallInput<Name>,
    options: CallOptions = {},
  ): Promise<Operations[Name]["answer"]> {
    const [method, template] = OPERATIONS[name];
    const { path, query, body } = input as {
      path?: Record<string, string | number>;
      query?: Record<string, unknown>;
      body?: unknown;
    };
    const filled = template.replace(/\{(\w+)\}/g, (_, key) =>
      encodeURIComponent(path?.[key] ?? ""),
    );
    const text = body === undefined || body === null ? undefined : JSON.stringify(body);
    return this.request(method, filled + queryText(query), text, options);
  }

  /**
   * Sends a request and reads its JSON response. It is sent up to four times: if it had no effect (no
   * connection came about, or the server answered 429 or 503), or if it is repeatable and may succeed
   * later.
   */
  async request<Answer>(
    method: string,
    path: string,
    body: string | undefined,
    options: CallOptions = {},
  ): Promise<Answer> {
    const isRepeatable = options.isRepeatable ?? method !== "POST";
    const backoff = new Backoff(100, 5_000);
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.requestOnce(method, path, body, options);
      } catch (error) {
        const isLast = tries >= TRIES_MAX || options.signal?.aborted;
        const mayHelp = isTransient(error) && (isRepeatable || hadNoEffect(error));
        if (isLast || !mayHelp) throw error;
        await pause(backoff.nextMs(error), options.signal);
      }
    }
  }

  /** Sends a request once. */
  async requestOnce<Answer>(
    method: string,
    path: string,
    body: string | undefined,
    { signal, timeoutMs = TIMEOUT_MS, check }: CallOptions = {},
  ): Promise<Answer> {
    const { url, apiKey, fetch } = this.settings;
    const headers: Record<string, string> = { accept: "application/json" };
    if (apiKey) headers["authorization"] = `Bearer ${apiKey}`;
    if (body !== undefined) headers["content-type"] = "application/json";
    // Not AbortSignal.any: it keeps every request alive for as long as the caller's signal lives.
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    const expire = () => controller.abort(new Error(`no response within ${timeoutMs} ms`));
    const timer = setTimeout(expire, timeoutMs);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    let response: HttpResponse;
    let text: string;
    try {
      const request = {
        method,
        headers,
        signal: controller.signal,
        ...(body !== undefined && { body }),
      };
      response = await fetch(`${url}/api/v1${path}`, request);
      text = await response.text();
    } catch (error) {
      const cause = (error as { cause?: Error }).cause ?? (error as Error);
      throw new ConnectionError(`${method} ${url}/api/v1${path}: ${cause.message}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
    if (!response.ok) throw apiError(response, text);
    let answer: unknown;
    try {
      answer = text === "" ? undefined : JSON.parse(text);
    } catch (cause) {
      throw new ConnectionError(`${method} ${url}/api/v1${path}: the response is not JSON`, {
        cause,
      });
    }
    check?.(answer);
    return answer as Answer;
  }
}

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ConnectionError) return !error.isUntrusted;
  return (
    error instanceof ApiError && (error.status >= 500 || [408, 425, 429].includes(error.status))
  );
}

/** Whether the server did not carry out a request. */
function hadNoEffect(error: unknown): boolean {
  if (error instanceof ApiError) return error.status === 429 || error.status === 503;
  return error instanceof ConnectionError && NOT_CONNECTED.includes(error.code ?? "");
}

/** Codes of Node for a connection that did not come about. */
const NOT_CONNECTED = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"];

function apiError(response: HttpResponse, text: string): ApiError {
  let problem: Partial<Problem>;
  try {
    problem = (JSON.parse(text) ?? {}) as Partial<Problem>;
  } catch {
    problem = { detail: `status ${response.status}: ${text.slice(0, 200)}` };
  }
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return new ApiError(
    response.status,
    problem,
    Number.isNaN(seconds) ? undefined : seconds * 1_000,
  );
}

function queryText(query: Record<string, unknown> | undefined): string {
  // A list repeats its name.
  const pairs = Object.entries(query ?? {}).flatMap(([name, value]) =>
    [value]
      .flat()
      .filter((one) => one !== undefined)
      .map((one) => [name, String(one)]),
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}
