// Compiles the tests against the built package and runs them; arguments are passed on to node --test.
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = (program, ...args) => {
  const { status } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
};

rmSync(`${root}build`, { recursive: true, force: true });
run(`${root}node_modules/.bin/tsc`, "-p", "tsconfig.test.json");
const tests = readdirSync(`${root}build/test`).filter((name) => name.endsWith(".test.js"));
run(
  "node",
  "--test",
  "--test-timeout=60000",
  ...process.argv.slice(2),
  ...tests.map((name) => `build/test/${name}`),
);
