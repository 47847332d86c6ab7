// Spans of OpenTelemetry. Its API registers itself under a symbol, so that several copies of it meet;
// it is looked up there and never imported, so that a program without it has nothing to install.
import type { Job } from "./generated.js";
import { VERSION } from "./version.js";
import type { Outcome } from "./worker/executor.js";

interface SpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
  readonly isRemote?: boolean;
}

interface Span {
  spanContext(): SpanContext;
  setAttribute(name: string, value: string): unknown;
  setStatus(status: { code: number; message: string }): unknown;
  end(): void;
}

interface SpanOptions {
  kind: number;
  root: true;
  links: { context: SpanContext }[];
  attributes: Record<string, string | number>;
}

interface TraceContext {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceContext;
}

interface OpenTelemetry {
  trace?: {
    getTracer(
      name: string,
      version: string,
    ): { startSpan(name: string, options: SpanOptions): Span };
  };
  context?: {
    active(): TraceContext;
    with<Result>(context: TraceContext, work: () => Result): Result;
  };
}

const API = Symbol.for("opentelemetry.js.api.1");
const SPAN = Symbol.for("OpenTelemetry Context Key SPAN");
const CONSUMER = 4;
const ERROR = 2;

function openTelemetry(): OpenTelemetry | undefined {
  return (globalThis as { [API]?: OpenTelemetry })[API];
}

/** Runs an attempt in a span: a trace of its own, linked to the span that created the job. */
export async function traced(job: Job, run: () => Promise<Outcome>): Promise<Outcome> {
  const span = quietly(() => startSpan(job));
  if (!span) return run();
  try {
    const outcome = await runWithin(span, run);
    quietly(() => setFailure(span, outcome));
    return outcome;
  } finally {
    quietly(() => span.end());
  }
}

/** An error of a tracer is not one of the attempt. */
function quietly<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

function startSpan(job: Job): Span | undefined {
  const creator = spanContext(job.traceparent);
  const tracer = openTelemetry()?.trace?.getTracer("steadfast-jobs", VERSION);
  return tracer?.startSpan(`process ${job.queue}`, {
    kind: CONSUMER,
    root: true,
    links: creator ? [{ context: creator }] : [],
    attributes: {
      "messaging.system": "steadfast",
      "messaging.operation.name": "process",
      "messaging.operation.type": "process",
      "messaging.destination.name": job.queue,
      "messaging.message.id": job.id,
      "steadfast.job.kind": job.kind,
      "steadfast.job.tenant": job.tenant,
      "steadfast.job.attempt": job.attempt,
      ...(job.worker && { "messaging.client.id": job.worker }),
    },
  });
}

/** Runs an attempt once, also if the context of the span cannot be set. */
function runWithin(span: Span, run: () => Promise<Outcome>): Promise<Outcome> {
  let running: Promise<Outcome> | undefined;
  quietly(() => {
    const { context } = openTelemetry() ?? {};
    context?.with(context.active().setValue(SPAN, span), () => {
      running = run();
    });
  });
  return running ?? run();
}

function setFailure(span: Span, outcome: Outcome): void {
  if (outcome?.outcome !== "fail") return;
  const name = outcome.failure?.class ?? "error";
  span.setAttribute("error.type", name);
  span.setStatus({ code: ERROR, message: name });
}

/** The current span in the format of W3C, if there is one. */
export function currentTraceparent(): string | undefined {
  return quietly(() => {
    const span = openTelemetry()?.context?.active().getValue(SPAN) as Span | undefined;
    const context = span?.spanContext();
    if (!context || /^0*$/.test(context.traceId) || /^0*$/.test(context.spanId)) return undefined;
    const flags = context.traceFlags.toString(16).padStart(2, "0");
    return `00-${context.traceId}-${context.spanId}-${flags}`;
  });
}

function spanContext(traceparent: string | null | undefined): SpanContext | undefined {
  const [, traceId, spanId, flags] = /^\w\w-(\w{32})-(\w{16})-(\w\w)/.exec(traceparent ?? "") ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}
