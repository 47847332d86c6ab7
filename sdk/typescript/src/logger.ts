/** Where a client and its workers log to. `console` is one. */
export interface Logger {
  debug(message: string, fields?: Record<string, unknown>): void;
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

function write(level: string, message: string, fields?: Record<string, unknown>): void {
  console.error(JSON.stringify({ time: new Date().toISOString(), level, message, ...fields }));
}

/** The default: one line of JSON per entry on stderr, without debug entries. */
export const jsonLogger: Logger = {
  debug: () => {},
  info: (message, fields) => write("info", message, fields),
  warn: (message, fields) => write("warn", message, fields),
  error: (message, fields) => write("error", message, fields),
};
