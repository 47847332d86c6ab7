/** Pauses that grow from one failure to the next, with jitter, so that many clients do not return at once. */
export class Backoff {
  #failures = 0;
  readonly #firstMs: number;
  readonly #mostMs: number;

  constructor(firstMs: number, mostMs: number) {
    this.#firstMs = firstMs;
    this.#mostMs = mostMs;
  }

  reset(): void {
    this.#failures = 0;
  }

  /**
   * The next pause: between half of its length and all of it, or what the server asks for if that is
   * longer, up to the longest pause: a server that is back should not wait for its workers.
   */
  nextMs(error?: unknown): number {
    const most = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#failures);
    this.#failures += 1;
    const asked = (error as { retryAfterMs?: number } | undefined)?.retryAfterMs ?? 0;
    return Math.max(most / 2 + (Math.random() * most) / 2, Math.min(asked, this.#mostMs));
  }
}

/** Waits, or returns early when the signal is aborted. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", finish);
      resolve();
    };
    const timer = setTimeout(finish, ms);
    signal?.addEventListener("abort", finish);
  });
}
