// Builds dist: the same sources as ES modules and as CommonJS, each with its types.
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const compile = (...args) =>
  execFileSync(`${root}node_modules/.bin/tsc`, args, { cwd: root, stdio: "inherit" });

rmSync(`${root}dist`, { recursive: true, force: true });
compile("-p", "tsconfig.portable.json");
compile("-p", "tsconfig.json");
compile("-p", "tsconfig.cjs.json");
writeFileSync(`${root}dist/cjs/package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
// The package outside the repository, such as a copy of this directory, has no licences to copy.
for (const license of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  const source = `${root}../../${license}`;
  if (existsSync(source)) copyFileSync(source, `${root}dist/${license}`);
}

// The thread of heartbeats gets its program as a text: see src/worker/heartbeat-source.ts.
const loop = readFileSync(`${root}dist/esm/worker/heartbeat-loop.js`, "utf8");
for (const format of ["esm", "cjs"]) {
  const file = `${root}dist/${format}/worker/heartbeat-source.js`;
  const [before, after] = readFileSync(file, "utf8").split('"put in by scripts/build.mjs"');
  writeFileSync(file, before + JSON.stringify(loop.replace(/^export /gm, "")) + after);
}
// Tools of this repository pass over directories that are marked as caches.
const mark = "Signature: 8a477f597d28d172789f06886806bc55\n";
writeFileSync(`${root}node_modules/CACHEDIR.TAG`, mark);
