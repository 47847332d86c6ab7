import type { LogLevel, LogLine, LogLines } from "./generated.js";
import type { Logger } from "./logger.js";

/** What the server keeps of an attempt, and of a line. */
const LINES_MAX = 1_000;
const BYTES_MAX = 64 * 1024;
const LINE_BYTES_MAX = 8 * 1024;
/** Lines are sent this long after the first that is not sent. */
const PAUSE_MS = 500;

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

  add(level: LogLevel, text: string): void {
    const shown = shorten(text);
    const bytes = encoder.encode(shown).length;
    this.#lines.push({ line: { at: new Date().toISOString(), level, text: shown }, bytes });
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

  /** The lines that go with the outcome; none are sent after them. */
  close(): LogLines | undefined {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    return this.unsent();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#flush(), PAUSE_MS);
  }

  async #flush(): Promise<void> {
    const lines = this.unsent();
    if (lines && !this.#isClosed) {
      try {
        await this.#send(lines);
        this.#stored = Math.max(this.#stored, (lines.from ?? 0) + (lines.lines?.length ?? 0));
      } catch {
        // They go with the next request.
      }
    }
    this.#timer = undefined;
    if (this.unsent()) this.#schedule();
  }
}

/** A logger whose entries are also kept with the attempt, but for those at level debug. */
export function keepLog(logger: Logger, fields: Record<string, unknown>, log: AttemptLog): Logger {
  const entry =
    (level: LogLevel & keyof Logger) =>
    (message: string, more?: Record<string, unknown>): void => {
      logger[level](message, { ...fields, ...more });
      if (level !== "debug") log.add(level, more ? `${message} ${asText(more)}` : message);
    };
  return { debug: entry("debug"), info: entry("info"), warn: entry("warn"), error: entry("error") };
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
