// Builds dist: the same sources as ES modules and as CommonJS, each with its types.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const compile = (...args) =>
  execFileSync(`${root}node_modules/.bin/tsc`, args, { cwd: root, stdio: "inherit" });

rmSync(`${root}dist`, { recursive: true, force: true });
compile("-p", "tsconfig.portable.json");
compile("-p", "tsconfig.json");
compile("-p", "tsconfig.cjs.json");
mkdirSync(`${root}dist/cjs`, { recursive: true });
writeFileSync(`${root}dist/cjs/package.json`, `${JSON.stringify({ type: "commonjs" })}\n`);
for (const license of ["LICENSE-APACHE", "LICENSE-MIT"]) {
  copyFileSync(`${root}../../${license}`, `${root}dist/${license}`);
}
