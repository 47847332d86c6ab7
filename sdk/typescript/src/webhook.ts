import type { Alert, EventType, Job } from "./generated.js";

/** The event that a webhook delivers. */
export type WebhookEvent =
  | (EventFields & { type: Extract<EventType, `job.${string}`>; data: Job })
  | (EventFields & { type: Extract<EventType, `alert.${string}`>; data: Alert });

interface EventFields {
  /** The same on every delivery of this event: use it to drop duplicates. */
  id: string;
  /** When it happened. */
  timestamp: string;
}

/** A request as it arrived. The body must be what was sent, byte by byte. */
export interface WebhookSource {
  headers: Headers | Record<string, string | string[] | undefined>;
  body: string | Uint8Array;
}

export interface VerifyWebhookOptions {
  /** The secrets of the endpoint, `whsec_…`; during a rotation the old and the new one. */
  secret: string | readonly string[];
  /** The time by which the age of a message is judged; now by default. */
  now?: Date;
}

/** The request was not signed with any of the secrets, or is too old. */
export class WebhookSignatureError extends Error {
  override readonly name = "WebhookSignatureError";
}

/** Maximum age of a message and maximum clock difference, as Standard Webhooks recommends. */
const TOLERANCE_SECONDS = 300;

/**
 * Checks the signature of a webhook and returns its event.
 * Throws a `WebhookSignatureError` if it is invalid, and a `TypeError` for a wrong secret.
 */
export async function verifyWebhook(
  source: WebhookSource,
  { secret, now = new Date() }: VerifyWebhookOptions,
): Promise<WebhookEvent> {
  const id = header(source, "webhook-id");
  const timestamp = header(source, "webhook-timestamp");
  const signatures = header(source, "webhook-signature").split(" ");
  const keys = (typeof secret === "string" ? [secret] : secret).map(keyOf);
  const age = Math.abs(now.getTime() / 1_000 - Number(timestamp));
  if (!(age <= TOLERANCE_SECONDS)) {
    throw new WebhookSignatureError("webhook-timestamp is too old, or too far in the future");
  }
  const encoder = new TextEncoder();
  const body = typeof source.body === "string" ? encoder.encode(source.body) : source.body;
  const prefix = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  for (const key of keys) {
    if (await isSigned(signed, signatures, key)) {
      return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
    }
  }
  throw new WebhookSignatureError("no signature matches");
}

async function isSigned(
  data: BufferSource,
  signatures: string[],
  bytes: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  for (const signature of signatures) {
    const [version, code] = signature.split(",", 2);
    const bytes = fromBase64(code ?? "");
    // Others may have signed it in another way, also one that is not known here.
    if (version !== "v1" || !bytes) continue;
    // Takes the same time wherever the codes differ.
    if (await crypto.subtle.verify("HMAC", key, bytes, data)) return true;
  }
  return false;
}

/** The key in a secret. A wrong one is an error of the settings, not of the signature. */
export function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = fromBase64(secret.replace(/^whsec_/, ""));
  // Anyone can sign with an empty key.
  if (!key?.length)
    throw new TypeError("secret: a webhook secret must be whsec_ followed by base64");
  return key;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Names of headers have any case: some gateways keep that of the sender. */
function header({ headers }: WebhookSource, name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof value !== "string") throw new WebhookSignatureError(`the header ${name} is missing`);
  return value;
}
