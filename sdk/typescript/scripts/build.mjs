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

// The thread of heartbeats gets its programs as texts: see src/worker/heartbeat-source.ts.
const texts = { "heartbeat-loop": "worker/heartbeat-loop.js", "node-fetch": "node-fetch.js" };
for (const format of ["esm", "cjs"]) {
  const file = `${root}dist/${format}/worker/heartbeat-source.js`;
  for (const [name, path] of Object.entries(texts)) {
    const text = readFileSync(`${root}dist/esm/${path}`, "utf8").replace(/^export /gm, "");
    const mark = `"${name}: put in by scripts/build.mjs"`;
    const [before, after] = readFileSync(file, "utf8").split(mark);
    writeFileSync(file, before + JSON.stringify(text) + after);
  }
}
// Tools of this repository pass over directories that are marked as caches.
const mark = "Signature: 8a477f597d28d172789f06886806bc55\n";
writeFileSync(`${root}node_modules/CACHEDIR.TAG`, mark);
