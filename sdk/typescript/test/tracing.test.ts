import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { type Logger, PermanentError, Steadfast } from "steadfast-jobs";
import { TestEngine } from "steadfast-jobs/testing";

const TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} };
const steadfast = new Steadfast({ logger: quiet });
const exporter = new InMemorySpanExporter();
let engine: TestEngine | undefined;

function install(): void {
  const spanProcessors = [new SimpleSpanProcessor(exporter)];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
}

afterEach(() => {
  engine?.restore();
  exporter.reset();
  trace.disable();
  context.disable();
});

test("a handler runs in a span that is linked to the span that created its job", async () => {
  install();
  const second = steadfast.job("second", { queue: "mail", run: () => {} });
  const first = steadfast.job("first", {
    queue: "mail",
    run: async () => {
      await second.enqueue();
    },
  });
  engine = new TestEngine(steadfast, { jobs: [first, second] });
  await first.enqueue(undefined, { traceparent: TRACE });
  await engine.runDue();
  const [span, next] = exporter.getFinishedSpans();
  assert.ok(span && next);
  assert.equal(span.name, "process mail");
  assert.equal(span.kind, SpanKind.CONSUMER);
  assert.equal(span.parentSpanContext, undefined);
  assert.equal(span.links[0]?.context.traceId, TRACE.slice(3, 35));
  assert.equal(span.attributes["messaging.system"], "steadfast");
  assert.equal(span.attributes["messaging.operation.name"], "process");
  assert.equal(span.attributes["messaging.destination.name"], "mail");
  assert.equal(span.attributes["steadfast.job.kind"], "first");
  assert.equal(span.attributes["steadfast.job.attempt"], 1);
  // What the handler creates carries its span.
  assert.equal(next.links[0]?.context.spanId, span.spanContext().spanId);
});

test("a failure has its class, and a job carries the current span", async () => {
  install();
  const broken = steadfast.job("broken", {
    run: () => {
      throw new PermanentError("no");
    },
  });
  engine = new TestEngine(steadfast, { jobs: [broken] });
  await trace.getTracer("test").startActiveSpan("request", async (span) => {
    await broken.enqueue();
    span.end();
  });
  await engine.runDue();
  const [request, failed] = exporter.getFinishedSpans();
  assert.ok(request && failed);
  assert.equal(failed.status.code, SpanStatusCode.ERROR);
  assert.ok(failed.attributes["error.type"]);
  assert.equal(failed.links[0]?.context.spanId, request.spanContext().spanId);
});

test("without OpenTelemetry a job carries the trace of its creator", async () => {
  const child = steadfast.job("child", { run: (_payload, { traceparent }) => traceparent });
  const parent = steadfast.job("parent", { run: async () => (await child.enqueue()).id });
  engine = new TestEngine(steadfast, { jobs: [parent, child] });
  const { id } = await parent.enqueue(undefined, { traceparent: TRACE });
  await engine.runDue();
  const { result } = engine.job(id);
  assert.equal(engine.job(String(result)).result, TRACE);
});

test("an error of a tracer changes no outcome", async () => {
  const fail = (): never => {
    throw new Error("the tracer is broken");
  };
  let runs = 0;
  const job = steadfast.job("untraced", {
    run: () => {
      runs += 1;
      throw new PermanentError("the handler's own");
    },
  });
  const spanContext = () => ({ traceId: "1", spanId: "1", traceFlags: 1 });
  const broken = { spanContext, setAttribute: fail, setStatus: fail, end: fail };
  const spans = [fail, () => broken];
  const contexts = [
    { active: fail, with: fail },
    { active: () => ({ setValue: () => ({}), getValue: () => undefined }), with: fail },
    {
      active: () => ({ setValue: () => ({}), getValue: fail }),
      with: (_context: unknown, work: () => unknown) => {
        work();
        fail();
      },
    },
  ];
  const api = Symbol.for("opentelemetry.js.api.1");
  const global = globalThis as unknown as Record<symbol, unknown>;
  const before = global[api];
  engine = new TestEngine(steadfast, { jobs: [job] });
  try {
    for (const startSpan of spans) {
      for (const context of contexts) {
        global[api] = { trace: { getTracer: () => ({ startSpan }) }, context };
        const { id } = await job.enqueue();
        await engine.runDue();
        assert.equal(engine.job(id).failure?.message, "the handler's own");
      }
    }
  } finally {
    global[api] = before;
  }
  assert.equal(runs, spans.length * contexts.length);
});
