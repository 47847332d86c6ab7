// Measures BullMQ on Redis as the conformance program's --bench measures a library of ours: the same
// number of jobs that do nothing and write the same two lines, then one at a time.
// node bench.mjs JOBS, with REDIS_PORT; the figures go to stderr.
import { Queue, Worker } from "bullmq";

const jobs = Number(process.argv[2] ?? 20_000);
const concurrency = 100;
const singles = 200;
const connection = { host: "127.0.0.1", port: Number(process.env.REDIS_PORT) };
const queue = new Queue("noop", { connection });
const opts = { removeOnComplete: true };

let onStart = () => {};
let onDone = () => {};
let done = 0;
const run = async (job) => {
  onStart();
  process.stdout.write(`{"event":"start","job":"${job.id}"}\n`);
  process.stdout.write(`{"event":"end","job":"${job.id}"}\n`);
};

// One by one, 50 at a time.
const enqueues = 2_000;
const enqueueBegin = performance.now();
let left = enqueues;
const enqueueSome = async () => {
  while (left > 0) {
    left -= 1;
    await queue.add("noop", null, opts);
  }
};
await Promise.all(Array.from({ length: 50 }, enqueueSome));
const enqueueSeconds = (performance.now() - enqueueBegin) / 1_000;

for (let made = enqueues; made < jobs; made += 1_000) {
  const count = Math.min(1_000, jobs - made);
  await queue.addBulk(Array.from({ length: count }, () => ({ name: "noop", data: null, opts })));
}
const cpu = process.cpuUsage();
const begin = performance.now();
const allDone = new Promise((resolve) => {
  onDone = resolve;
});
const worker = new Worker("noop", run, { connection, concurrency });
worker.on("completed", () => {
  done += 1;
  if (done === jobs) onDone();
});
await allDone;
const seconds = (performance.now() - begin) / 1_000;
const used = process.cpuUsage(cpu);

const latencies = [];
for (let count = 0; count < singles; count += 1) {
  const started = new Promise((resolve) => {
    onStart = resolve;
  });
  const created = performance.now();
  await Promise.all([queue.add("noop", null, opts), started.then(() => latencies.push(performance.now() - created))]);
}
latencies.sort((a, b) => a - b);

// With one slot.
await worker.close();
const oneByOne = 500;
await queue.addBulk(Array.from({ length: oneByOne }, () => ({ name: "noop", data: null, opts })));
onStart = () => {};
done = 0;
const oneBegin = performance.now();
await new Promise((resolve) => {
  const single = new Worker("noop", run, { connection, concurrency: 1 });
  single.on("completed", () => {
    done += 1;
    if (done === oneByOne) resolve();
  });
});
const oneSeconds = (performance.now() - oneBegin) / 1_000;
const figures = {
  library: "bullmq",
  jobs,
  concurrency,
  jobsPerSecond: jobs / seconds,
  enqueuesPerSecond: enqueues / enqueueSeconds,
  oneByOnePerSecond: oneByOne / oneSeconds,
  cpuPerJobMicros: (used.user + used.system) / jobs,
  startP50Ms: latencies[singles / 2],
  startP99Ms: latencies[Math.floor(singles * 0.99)],
};
process.stderr.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
