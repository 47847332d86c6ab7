// What JSON makes of a value: the worker sees that, and not what the caller had.

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** The type of a value after it was written as JSON and read again: a `Date` is a text. */
export type Jsonify<Value> = unknown extends Value
  ? Value
  : [Value] extends [JsonValue]
    ? Value
    : Value extends string | number | boolean | null | undefined
      ? Value
      : Value extends { toJSON(...given: never[]): infer Written }
        ? Jsonify<Written>
        : Value extends
              | bigint
              | symbol
              | ((...given: never[]) => unknown)
              | ReadonlyMap<unknown, unknown>
              | ReadonlySet<unknown>
          ? never
          : Value extends readonly unknown[]
            ? { [Index in keyof Value]: Jsonify<Value[Index]> }
            : Value extends object
              ? { [Name in keyof Value]: Jsonify<Value[Name]> }
              : Value;

/** A message for the type checker, unless a payload is the same after it was JSON. */
export type JsonOnly<Payload> = [Payload] extends [Jsonify<Payload>]
  ? unknown
  : "the payload is JSON: a Date arrives as a string, and other objects without their class";

/**
 * The value as it is after it was JSON. Throws a `TypeError` if a part of it would be silently lost:
 * `NaN`, `Infinity`, a `Map` or a `Set`.
 */
export function throughJson(value: unknown): unknown {
  const text = JSON.stringify(value, function (this: unknown, name, written) {
    const given: unknown = (this as Record<string, unknown>)[name];
    if (typeof given === "number" && !Number.isFinite(given)) {
      throw new TypeError(`${placeOf(name)}${given} has no form in JSON`);
    }
    if (given instanceof Map || given instanceof Set) {
      throw new TypeError(`${placeOf(name)}a ${given.constructor.name} has no form in JSON`);
    }
    return written;
  });
  return text === undefined ? undefined : JSON.parse(text);
}

function placeOf(name: string): string {
  return name === "" ? "" : `${name}: `;
}
