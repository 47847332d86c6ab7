// The same package from CommonJS.
const assert = require("node:assert/strict");
const { Steadfast } = require("steadfast-jobs");
const { webhookReceiver } = require("steadfast-jobs/express");
const { TestEngine } = require("steadfast-jobs/testing");

const steadfast = new Steadfast();
const double = steadfast.job("double", { run: (n) => n * 2 });
const engine = new TestEngine(steadfast, { jobs: [double] });
double
  .enqueue(21)
  .then(({ id }) => engine.runDue().then(() => assert.equal(engine.job(id).result, 42)));
assert.equal(typeof webhookReceiver, "function");
