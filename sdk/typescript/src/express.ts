import { environment } from "./runtime.js";
import { keyOf, verifyWebhook, type WebhookEvent, WebhookSignatureError } from "./webhook.js";

// The parts of a request and a response that are used: those of Express, and of Node's own server.
interface Request extends AsyncIterable<Uint8Array> {
  headers: Record<string, string | string[] | undefined>;
  body?: unknown;
}

interface Response {
  statusCode: number;
  end(text?: string): unknown;
}

export interface WebhookReceiverOptions {
  /**
   * The secrets of the endpoint, `whsec_…`; during a rotation the old and the new one. By default
   * that of `STEADFAST_WEBHOOK_SECRET`.
   */
  secret?: string | readonly string[] | undefined;
  /** Called with each event. If it throws, the server delivers the event again later. */
  onEvent: (event: WebhookEvent) => unknown;
}

const BODY_BYTES_MAX = 1024 * 1024;

/**
 * A handler for Express that receives webhooks: `app.post("/hooks", webhookReceiver({ … }))`.
 *
 * The signature is over the bytes of the body, so it must come before `express.json()`, or after
 * `express.raw({ type: "*\/*" })`.
 */
export function webhookReceiver({ onEvent, ...options }: WebhookReceiverOptions) {
  const secret = options.secret ?? environment("STEADFAST_WEBHOOK_SECRET");
  if (!secret?.length) throw new TypeError("secret: give one, or set STEADFAST_WEBHOOK_SECRET");
  for (const one of typeof secret === "string" ? [secret] : secret) keyOf(one);
  return async (
    request: Request,
    response: Response,
    next?: (error?: unknown) => void,
  ): Promise<void> => {
    try {
      const body = await readBody(request);
      if (body === undefined) {
        response.statusCode = 413;
        response.end("the body is too large\n");
        return;
      }
      await onEvent(await verifyWebhook({ headers: request.headers, body }, { secret }));
      response.statusCode = 204;
      response.end();
    } catch (error) {
      if (error instanceof WebhookSignatureError) {
        response.statusCode = 401;
        response.end(`${error.message}\n`);
      } else if (next) {
        next(error);
      } else {
        response.statusCode = 500;
        response.end();
      }
    }
  };
}

async function readBody(request: Request): Promise<Uint8Array | string | undefined> {
  const { body } = request;
  if (typeof body === "string" || body instanceof Uint8Array) return body;
  if (body !== undefined) {
    throw new TypeError("the body was parsed: put webhookReceiver before express.json()");
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  const whole = new Uint8Array(length);
  let offset = 0;
  for (const chunk of chunks) {
    whole.set(chunk, offset);
    offset += chunk.length;
  }
  return whole;
}
