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

  /** The next pause: between half of its length and all of it. */
  nextMs(): number {
    const most = Math.min(this.#mostMs, this.#firstMs * 2 ** this.#failures);
    this.#failures += 1;
    return most / 2 + (Math.random() * most) / 2;
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
