/** A duration as the API takes it: text such as `30s`, `5m` or `1h30m`, or milliseconds. */
export type DurationInput = string | number;

const UNIT_MS: Record<string, number> = {
  d: 86_400_000,
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 0.001,
};

/** The milliseconds of a duration. Throws a `TypeError` that names the field if it is not one. */
export function durationMs(duration: DurationInput, field = "duration"): number {
  if (typeof duration === "number") {
    if (Number.isFinite(duration) && duration >= 0) return duration;
  } else if (/^(\d{1,6}(d|h|m|s|ms|us))+$/.test(duration)) {
    const parts = duration.matchAll(/(\d+)(ms|us|[dhms])/g);
    let sum = 0;
    for (const [, count, unit] of parts) sum += Number(count) * (UNIT_MS[unit ?? ""] ?? 0);
    return sum;
  }
  throw new TypeError(
    `${field}: ${JSON.stringify(duration)} is not a duration; write "30s", "5m", "1h30m" or milliseconds`,
  );
}
