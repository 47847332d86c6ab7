import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { VERSION } from "steadfast-jobs";

const root = join(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");

test("only the part for tests imports a module of Node, and none imports a package", () => {
  const files = readdirSync(join(root, "dist/esm"), { recursive: true, encoding: "utf8" });
  const sources = files.filter((name) => name.endsWith(".js") && !name.startsWith("testing"));
  assert.ok(sources.length > 20);
  const imports = sources.flatMap((name) => [
    ...read(`dist/esm/${name}`).matchAll(/ from "(.+)"/g),
  ]);
  assert.deepEqual(
    imports.map(([, from]) => from).filter((from) => !from?.startsWith(".")),
    [],
  );
});

test("the version is that of the package and of the workspace", () => {
  assert.equal(VERSION, JSON.parse(read("package.json")).version);
  assert.match(read("../../Cargo.toml"), new RegExp(`^version = "${VERSION}"$`, "m"));
});

test("a project can have the library and the package of the program", () => {
  const program = JSON.parse(read("../../packaging/npm/package.json"));
  assert.notEqual(JSON.parse(read("package.json")).name, program.name);
});
