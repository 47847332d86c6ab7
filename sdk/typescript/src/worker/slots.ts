/** A claim for each single free slot would be many small requests: this share of all is worth one. */
const SHARE = 0.25;
/** But a free slot does not wait for long. */
const PATIENCE_MS = 5;

/** How many handlers run, and when it is worth claiming more jobs. */
export class Slots {
  readonly #concurrency: number;
  #taken = 0;
  #onChange: () => void = () => {};

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get taken(): number {
    return this.#taken;
  }

  get free(): number {
    return this.#concurrency - this.#taken;
  }

  take(): void {
    this.#taken += 1;
  }

  release(): void {
    this.#taken -= 1;
    this.#onChange();
  }

  /** Returns when a share of the slots is free, or one has been free for a moment. */
  async waitForRoom(signal: AbortSignal): Promise<void> {
    const enough = Math.max(1, Math.floor(this.#concurrency * SHARE));
    if (this.free === 0) await this.#until(() => this.free > 0, signal);
    if (this.free < enough) await this.#until(() => this.free >= enough, signal, PATIENCE_MS);
  }

  /** Returns when no handler runs, or after this long. */
  async waitForIdle(timeoutMs: number): Promise<void> {
    await this.#until(() => this.#taken === 0, undefined, timeoutMs);
  }

  #until(isMet: () => boolean, signal?: AbortSignal, timeoutMs?: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", finish);
        this.#onChange = () => {};
        resolve();
      };
      if (signal?.aborted || isMet()) return finish();
      this.#onChange = () => isMet() && finish();
      signal?.addEventListener("abort", finish);
      if (timeoutMs !== undefined) timer = setTimeout(finish, timeoutMs);
    });
  }
}
