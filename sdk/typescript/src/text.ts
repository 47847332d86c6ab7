/** JSON has no halves of characters, and the server refuses them. */
export function wellFormed(text: string): string {
  return String(text).replace(/\p{Surrogate}/gu, "\ufffd");
}

/** A value of any type as text. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ?? String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}
