import type { Alert, EventType, Job } from "./generated.js";

/** An event, as the body of a webhook has it. */
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

/** How far the clocks may differ, and how late a message may be, as Standard Webhooks has it. */
const TOLERANCE_SECONDS = 300;

/**
 * Checks the signature of a webhook and returns its event.
 * Throws a `WebhookSignatureError` if it does not hold.
 */
export async function verifyWebhook(
  source: WebhookSource,
  { secret, now = new Date() }: VerifyWebhookOptions,
): Promise<WebhookEvent> {
  const id = header(source, "webhook-id");
  const timestamp = header(source, "webhook-timestamp");
  const signatures = header(source, "webhook-signature").split(" ");
  const age = Math.abs(now.getTime() / 1_000 - Number(timestamp));
  if (!(age <= TOLERANCE_SECONDS)) {
    throw new WebhookSignatureError("webhook-timestamp is too far from the present time");
  }
  const encoder = new TextEncoder();
  const body = typeof source.body === "string" ? encoder.encode(source.body) : source.body;
  const prefix = encoder.encode(`${id}.${timestamp}.`);
  const signed = new Uint8Array(prefix.length + body.length);
  signed.set(prefix);
  signed.set(body, prefix.length);
  for (const one of typeof secret === "string" ? [secret] : secret) {
    if (await isSigned(signed, signatures, one)) {
      return JSON.parse(new TextDecoder().decode(body)) as WebhookEvent;
    }
  }
  throw new WebhookSignatureError("no signature fits the secret");
}

async function isSigned(
  data: BufferSource,
  signatures: string[],
  secret: string,
): Promise<boolean> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const bytes = fromBase64(secret.replace(/^whsec_/, ""));
  // Anyone can sign with an empty key.
  if (bytes.length === 0) throw new TypeError("secret: it is empty");
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["verify"]);
  for (const signature of signatures) {
    const [version, code] = signature.split(",", 2);
    if (version !== "v1" || !code) continue;
    // Takes the same time wherever the codes differ.
    if (await crypto.subtle.verify("HMAC", key, fromBase64(code), data)) return true;
  }
  return false;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw new WebhookSignatureError("the secret or the signature is not base64");
  }
}

function header({ headers }: WebhookSource, name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  if (typeof value !== "string") throw new WebhookSignatureError(`the header ${name} is missing`);
  return value;
}
