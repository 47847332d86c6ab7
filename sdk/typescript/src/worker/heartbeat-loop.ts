import type { HeartbeatList } from "../generated.js";
import type { Fetch } from "../http.js";

/** A claim whose lease shall be renewed. */
export interface LeasedClaim {
  id: string;
  fence: number;
  leaseMs: number;
}

/** What the loop is asked for. */
export interface HeartbeatMessage {
  hold?: LeasedClaim[];
  drop?: LeasedClaim[];
}

/** What the loop found out about a claim. */
export interface HeartbeatNews {
  id: string;
  fence: number;
  what: "cancelled" | "timeout" | "stale" | "expired";
}

/** What the loop tells from time to time. */
export interface HeartbeatReport {
  news?: HeartbeatNews[];
  /** Why a request failed; it is repeated. */
  error?: string;
}

export interface HeartbeatSettings {
  url: string;
  headers: Record<string, string>;
  worker: string;
  /** Sent with each heartbeat if the worker asks for a lease other than the jobs' own. */
  leaseMs: number | undefined;
}

/**
 * Renews the leases of all held claims, in one request per third of the shortest lease.
 *
 * A handler that computes blocks the event loop, and its lease would run out meanwhile; so this runs on
 * a thread, from the text of this file. **It must not import anything** but types.
 */
export function runHeartbeats(
  settings: HeartbeatSettings,
  report: (report: HeartbeatReport) => void,
  fetch: Fetch,
): (message: HeartbeatMessage) => void {
  const CLAIMS_MAX = 1_000;
  const PAUSE_MS_MIN = 100;
  const TIMEOUT_MS_MIN = 500;
  const TIMEOUT_MS_MAX = 30_000;
  const held = new Map<string, LeasedClaim & { renewedAt: number; wasCancelled: boolean }>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let timerAt = Number.POSITIVE_INFINITY;
  let failures = 0;
  let isSending = false;

  const keyOf = (claim: { id: string; fence: number }) => `${claim.id} ${claim.fence}`;

  function intervalMs(): number {
    let shortest = Number.POSITIVE_INFINITY;
    for (const claim of held.values()) shortest = Math.min(shortest, claim.leaseMs);
    return shortest / 3;
  }

  function timeoutMs(): number {
    return Math.ceil(Math.min(Math.max(intervalMs(), TIMEOUT_MS_MIN), TIMEOUT_MS_MAX));
  }

  function firstExpiry(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const claim of held.values()) first = Math.min(first, claim.renewedAt + claim.leaseMs);
    return first;
  }

  function wakeAt(time: number): void {
    if (time >= timerAt) return;
    clearTimeout(timer);
    timerAt = time;
    timer = setTimeout(tick, Math.min(Math.max(0, time - performance.now()), 2 ** 31 - 1));
  }

  function tick(): void {
    timerAt = Number.POSITIVE_INFINITY;
    if (failures > 0) expire();
    if (held.size === 0 || isSending) return;
    isSending = true;
    renewAll().then((isRenewed) => {
      isSending = false;
      failures = isRenewed ? 0 : failures + 1;
      if (held.size === 0) return;
      const soon = PAUSE_MS_MIN * 2 ** failures * (0.5 + Math.random() / 2);
      wakeAt(performance.now() + (isRenewed ? intervalMs() : Math.min(soon, intervalMs())));
      if (!isRenewed) wakeAt(firstExpiry());
    });
  }

  async function renewAll(): Promise<boolean> {
    const claims = [...held.values()];
    let isRenewed = true;
    for (let start = 0; start < claims.length; start += CLAIMS_MAX) {
      isRenewed = (await renew(claims.slice(start, start + CLAIMS_MAX))) && isRenewed;
    }
    return isRenewed;
  }

  async function renew(claims: LeasedClaim[]): Promise<boolean> {
    const sentAt = performance.now();
    const lease = settings.leaseMs;
    const entries = claims.map(({ id, fence }) => ({ id, fence, lease }));
    try {
      const response = await fetch(`${settings.url}/claims/heartbeat`, {
        method: "POST",
        headers: settings.headers,
        body: JSON.stringify({ worker: settings.worker, claims: entries }),
        signal: AbortSignal.timeout(timeoutMs()),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`status ${response.status}: ${reasonOf(text)}`);
      const list = JSON.parse(text) as HeartbeatList;
      const isComplete = list?.claims?.length === claims.length;
      if (!isComplete || !list.claims.every((one) => typeof one?.ok === "boolean")) {
        throw new Error(`an unexpected answer: not one result for each of ${claims.length} claims`);
      }
      apply(claims, list, sentAt);
      return true;
    } catch (error) {
      report({ error: error instanceof Error ? error.message : String(error) });
      return false;
    }
  }

  function reasonOf(text: string): string {
    try {
      return String((JSON.parse(text) as { detail?: string }).detail ?? text.slice(0, 200));
    } catch {
      return text.slice(0, 200);
    }
  }

  function apply(claims: LeasedClaim[], list: HeartbeatList, sentAt: number): void {
    const news: HeartbeatNews[] = [];
    claims.forEach(({ id, fence }, index) => {
      const claim = held.get(keyOf({ id, fence }));
      const result = list.claims[index];
      if (!claim || !result) return;
      const isStale = result.code === "stale_fence" || result.code === "not_found";
      if (isStale || result.timedOut) {
        held.delete(keyOf(claim));
        news.push({ id, fence, what: isStale ? "stale" : "timeout" });
        return;
      }
      if (!result.ok) return;
      claim.renewedAt = sentAt;
      if (result.cancelRequested && !claim.wasCancelled) {
        claim.wasCancelled = true;
        news.push({ id, fence, what: "cancelled" });
      }
    });
    if (news.length > 0) report({ news });
  }

  /** Leases are measured here, by this machine's steady clock: its time of day may be wrong. */
  function expire(): void {
    const news: HeartbeatNews[] = [];
    for (const [key, claim] of held) {
      if (performance.now() < claim.renewedAt + claim.leaseMs) continue;
      held.delete(key);
      news.push({ id: claim.id, fence: claim.fence, what: "expired" });
    }
    if (news.length > 0) report({ news });
  }

  return ({ hold, drop }) => {
    const now = performance.now();
    for (const claim of drop ?? []) held.delete(keyOf(claim));
    for (const claim of hold ?? []) {
      held.set(keyOf(claim), { ...claim, renewedAt: now, wasCancelled: false });
      if (!isSending) wakeAt(now + claim.leaseMs / 3);
    }
    if (held.size === 0) {
      clearTimeout(timer);
      timerAt = Number.POSITIVE_INFINITY;
    }
  };
}
