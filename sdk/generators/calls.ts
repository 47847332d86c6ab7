// The calls of a client that openapi-typescript and openapi-fetch make of docs/openapi.json. That it
// compiles is half of the test: fields that may be left out are optional.
import createClient from "openapi-fetch";
import type { paths } from "./client.js";

const client = createClient<paths>({ baseUrl: process.env.STEADFAST_URL });

function check<T>(answer: { data?: T; error?: unknown }): T {
  if (answer.data === undefined) throw new Error(JSON.stringify(answer.error));
  return answer.data;
}

const replay = check(
  await client.POST("/api/v1/policies/replay", { body: { queue: "default", retry: "patient" } }),
);
console.log(`typescript: replay: ${replay.summary}`);

const batch = check(
  await client.POST("/api/v1/batches", { body: { name: "import", jobs: [{ kind: "row" }] } }),
);
if (batch.total !== 1) throw new Error(`a batch of ${batch.total} jobs`);

const unique = async () =>
  check(await client.POST("/api/v1/jobs", { body: { kind: "report", unique: { key: "report:7" } } }));
const [first, second] = [await unique(), await unique()];
if (!("id" in first && "id" in second) || first.id !== second.id) throw new Error("two jobs of one key");

const read = check(await client.GET("/api/v1/jobs/{id}", { params: { path: { id: first.id } } }));
if (read.label !== "ready") throw new Error(`the job is ${read.label}`);

const missing = await client.GET("/api/v1/jobs/{id}", {
  params: { path: { id: "job_01m7j2yprhee8vapgzpkag059v" } },
});
if (missing.error?.code !== "not_found") throw new Error(JSON.stringify(missing));
