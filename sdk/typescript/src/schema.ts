// The part of Standard Schema (standardschema.dev) that is used here. zod, valibot, arktype and others
// implement it, so payloads are checked by the library that the application already has.

/** A schema of zod, valibot or any other library that follows Standard Schema. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<SchemaIssue> };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined;
}

/** The input of a schema. */
export type SchemaInput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["input"];

/** The output of a schema. */
export type SchemaOutput<Schema extends StandardSchema> = NonNullable<
  Schema["~standard"]["types"]
>["output"];

/** An issue as one line: `address.city: expected a string`. */
export function describeIssue(issue: SchemaIssue): string {
  const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part));
  return path.length > 0 ? `${path.join(".")}: ${issue.message}` : issue.message;
}
