import { nodeProcess } from "../runtime.js";

const SIGNALS: Record<string, number> = { SIGINT: 2, SIGTERM: 15 };

/** Calls `stop` at the first SIGTERM or SIGINT; the second ends the process at once. */
export function listenForSignals(stop: () => void): () => void {
  let isStopping = false;
  const listener = (signal: string) => {
    if (isStopping) nodeProcess?.exit(128 + (SIGNALS[signal] ?? 0));
    isStopping = true;
    stop();
  };
  for (const signal of Object.keys(SIGNALS)) nodeProcess?.on(signal, listener);
  return () => {
    for (const signal of Object.keys(SIGNALS)) nodeProcess?.off(signal, listener);
  };
}
