import assert from "node:assert/strict";
import { test } from "node:test";
import { RetryAfterError, SnoozeError } from "steadfast-jobs";

const delayMs = (duration: string | number) => new SnoozeError(duration).delayMs;

test("durations are read as the server reads them", () => {
  const cases: [string | number, number][] = [
    ["30s", 30_000],
    ["1h30m", 5_400_000],
    ["250ms", 250],
    ["2d", 172_800_000],
    ["500us", 0.5],
    [0, 0],
    [1500, 1500],
  ];
  for (const [text, ms] of cases) assert.equal(delayMs(text), ms, String(text));
});

test("what is not a duration is refused with the field and an example", () => {
  for (const text of ["", "5", "s", "-1s", "1 s", "1w", -1, Number.NaN]) {
    assert.throws(() => delayMs(text), /^TypeError: delay: .* is not a duration; write "30s"/);
  }
  assert.throws(() => new RetryAfterError("soon"), TypeError);
});
