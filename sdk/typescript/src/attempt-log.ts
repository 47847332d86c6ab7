import { ApiError } from "./errors.js";
import type { LogLevel, LogLine, LogLines } from "./generated.js";
import type { Logger } from "./logger.js";
import { textOf, wellFormed } from "./text.js";

/** What the server keeps of an attempt, and of a line. */
const LINES_MAX = 1_000;
const BYTES_MAX = 64 * 1024;
const LINE_BYTES_MAX = 8 * 1024;
/** Lines are sent this long after the first that is not sent. */
const PAUSE_MS = 500;
const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];

const encoder = new TextEncoder();

/**
 * The newest lines that an attempt logged. They are numbered from 0, so that a request can be repeated
 * without storing a line twice.
 */
export class AttemptLog {
  readonly #send: (lines: LogLines) => Promise<void>;
  #lines: { line: LogLine; bytes: number }[] = [];
  #bytes = 0;
  #first = 0;
  #stored = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(send: (lines: LogLines) => Promise<void>) {
    this.#send = send;
  }

  /** Adds a line. A caller without types may pass any value, and a mistake in a log line fails no job. */
  add(level: LogLevel, text: unknown): void {
    const shown = shorten(lineOf(text));
    const bytes = encoder.encode(shown).length;
    const known = LEVELS.includes(level) ? level : "info";
    this.#lines.push({ line: { at: new Date().toISOString(), level: known, text: shown }, bytes });
    this.#bytes += bytes;
    let dropped = 0;
    while (this.#lines.length - dropped > LINES_MAX || this.#bytes > BYTES_MAX) {
      this.#bytes -= this.#lines[dropped]?.bytes ?? 0;
      dropped += 1;
    }
    if (dropped > 0) this.#lines.splice(0, dropped);
    this.#first += dropped;
    this.#schedule();
  }

  /** The lines that the server has not stored. */
  unsent(): LogLines | undefined {
    const from = Math.max(this.#first, this.#stored);
    const lines = this.#lines.slice(from - this.#first).map(({ line }) => line);
    return lines.length > 0 ? { from, lines } : undefined;
  }

  /** Leaves out the lines so far: the server refuses them, or a request with them. */
  drop(): void {
    this.#stored = this.#first + this.#lines.length;
  }

  /** The lines that go with the outcome; none are sent after them. */
  close(): LogLines | undefined {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    return this.unsent();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#flush(), PAUSE_MS);
    // A log alone does not keep a process of Node alive.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  async #flush(): Promise<void> {
    const lines = this.unsent();
    if (lines && !this.#isClosed) {
      try {
        await this.#send(lines);
        this.#markStored(lines);
      } catch (error) {
        // Otherwise they go with the next request.
        if (isRefused(error)) this.#markStored(lines);
      }
    }
    this.#timer = undefined;
    if (this.unsent()) this.#schedule();
  }

  #markStored({ from = 0, lines = [] }: LogLines): void {
    this.#stored = Math.max(this.#stored, from + lines.length);
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof ApiError && [400, 413, 422].includes(error.status);
}

/** A logger whose entries are also kept with the attempt, but for those at level debug. */
export function keepLog(logger: Logger, fields: Record<string, unknown>, log: AttemptLog): Logger {
  const entry =
    (level: LogLevel & keyof Logger) =>
    (message: string, more?: Record<string, unknown>): void => {
      logger[level](message, { ...fields, ...more });
      if (level !== "debug") log.add(level, more ? `${lineOf(message)} ${asText(more)}` : message);
    };
  return { debug: entry("debug"), info: entry("info"), warn: entry("warn"), error: entry("error") };
}

function lineOf(text: unknown): string {
  try {
    return wellFormed(textOf(text));
  } catch {
    return "[a value that has no text]";
  }
}

function asText(fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields);
  } catch {
    return "[fields that are not JSON]";
  }
}

function shorten(text: string): string {
  // A character has at most three bytes for each unit of UTF-16.
  if (text.length * 3 <= LINE_BYTES_MAX || encoder.encode(text).length <= LINE_BYTES_MAX)
    return text;
  const cut = new Uint8Array(LINE_BYTES_MAX - 3);
  const { read } = encoder.encodeInto(text, cut);
  return `${text.slice(0, read)}…`;
}
