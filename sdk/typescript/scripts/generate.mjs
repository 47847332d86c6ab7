// Writes src/generated.ts from docs/openapi.json: a type for each schema, and a table of the operations.
// With --check it writes nothing and fails if the file is not what it would write.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = new URL("../../../docs/openapi.json", import.meta.url);
const target = new URL("../src/generated.ts", import.meta.url);
const api = JSON.parse(readFileSync(source, "utf8"));
const PREFIX = "/api/v1";

function comment(text, indent) {
  if (!text) return "";
  const lines = text.trim().replaceAll("*/", "*\u200b/").split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function nameOf(reference) {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function typeOf(schema, indent = "") {
  if (schema === undefined || schema === true) return "unknown";
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives) return unique(alternatives.map((one) => typeOf(one, indent))).join(" | ");
  if (schema.allOf) return schema.allOf.map((one) => typeOf(one, indent)).join(" & ");
  if (Array.isArray(schema.type)) {
    return unique(schema.type.map((type) => typeOf({ ...schema, type }, indent))).join(" | ");
  }
  switch (schema.type) {
    case "string":
    case "boolean":
    case "null":
      return schema.type;
    case "integer":
    case "number":
      return "number";
    case "array": {
      const item = typeOf(schema.items, indent);
      return /[ |&]/.test(item) ? `Array<${item}>` : `${item}[]`;
    }
    case "object":
      return objectType(schema, indent);
    default:
      return "unknown";
  }
}

function objectType(schema, indent) {
  if (!schema.properties) {
    const value = schema.additionalProperties;
    return `Record<string, ${value ? typeOf(value, indent) : "unknown"}>`;
  }
  const required = new Set(schema.required ?? []);
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties).map(([name, property]) => {
    const described =
      property.description ?? property.oneOf?.find((one) => one.description)?.description;
    const type = typeOf(property, inner);
    const isOptional = !required.has(name);
    // A caller may pass undefined for what it leaves out.
    const alsoUndefined = isOptional && type !== "unknown" ? " | undefined" : "";
    return `${comment(described, inner)}${inner}${name}${isOptional ? "?" : ""}: ${type}${alsoUndefined};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function unique(values) {
  return [...new Set(values)];
}

function schemas() {
  return Object.entries(api.components.schemas).map(([name, schema]) => {
    const type = typeOf(schema);
    const isInterface = schema.type === "object" && schema.properties;
    const body = isInterface
      ? `export interface ${name} ${type}`
      : `export type ${name} = ${type};`;
    return `${comment(schema.description, "")}${body}\n`;
  });
}

function operations() {
  const found = [];
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const answers = Object.entries(operation.responses).filter(([status]) =>
        status.startsWith("2"),
      );
      const all = answers.flatMap(([, answer]) => Object.entries(answer.content ?? {}));
      // Some answers can be a stream instead.
      const contents = all.filter(([type]) => type === "application/json");
      const isJson = all.length === 0 || contents.length > 0;
      if (!operation.operationId || !isJson || !path.startsWith(PREFIX)) continue;
      found.push({
        path: path.slice(PREFIX.length),
        method: method.toUpperCase(),
        operation,
        contents,
      });
    }
  }
  return found;
}

function parameters(operation, place) {
  const found = (operation.parameters ?? []).filter((parameter) => parameter.in === place);
  return found.map(({ name, schema, required, description }) => {
    const optional = required ? "" : "?";
    const type = typeOf(schema, "      ");
    return `${comment(description, "      ")}      ${name}${optional}: ${type}${required ? "" : " | undefined"};\n`;
  });
}

function operationType({ operation, contents }) {
  const lines = [];
  const inPath = parameters(operation, "path");
  const inQuery = parameters(operation, "query");
  if (inPath.length > 0) lines.push(`    path: {\n${inPath.join("")}    };\n`);
  if (inQuery.length > 0) lines.push(`    query?: {\n${inQuery.join("")}    };\n`);
  const body = operation.requestBody?.content?.["application/json"]?.schema;
  if (body) {
    const type = typeOf(body, "    ");
    const isOptional = type.split(" | ").includes("null");
    lines.push(`    body${isOptional ? "?" : ""}: ${type}${isOptional ? " | undefined" : ""};\n`);
  }
  const answer = unique(contents.map(([, content]) => typeOf(content.schema, "    "))).join(" | ");
  lines.push(`    answer: ${answer || "undefined"};\n`);
  return `${comment(operation.summary, "  ")}  ${operation.operationId}: {\n${lines.join("")}  };\n`;
}

const found = operations();
const text = `// Made from docs/openapi.json by scripts/generate.mjs; do not edit.

${schemas().join("\n")}
/** What each operation of the API takes and answers. */
export interface Operations {
${found.map(operationType).join("")}}

/** The method and the path of each operation, below ${PREFIX}. */
export const OPERATIONS: { readonly [Name in keyof Operations]: readonly [method: string, path: string] } = {
${found.map((one) => `  ${one.operation.operationId}: ["${one.method}", "${one.path}"],\n`).join("")}};
`;

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== text) {
    console.error("src/generated.ts is not what docs/openapi.json says: npm run generate");
    process.exit(1);
  }
} else {
  writeFileSync(target, text);
  console.log(`${fileURLToPath(target)}: ${text.split("\n").length} lines`);
}
