// Checks of answers: a proxy, or a server that is broken, may answer anything, and a worker goes on.

import { ConnectionError } from "../errors.js";
import type { Claim } from "../generated.js";

/** The claims of an answer, each with what a worker needs of it. */
export function checkClaims(claims: unknown): Claim[] {
  if (!Array.isArray(claims) || !claims.every(isClaim)) {
    throw new ConnectionError("an unexpected answer: not a list of claims");
  }
  return claims;
}

function isClaim(claim: Partial<Claim> | null): boolean {
  const { id, fence, job } = claim ?? {};
  return (
    typeof id === "string" &&
    typeof fence === "number" &&
    typeof job?.id === "string" &&
    typeof job.kind === "string" &&
    typeof job.leaseMs === "number"
  );
}

/** The results of an answer: one for each entry of the request, in its order. */
export function checkResults<Result extends { ok: boolean }>(
  results: Result[] | undefined,
  count: number,
  what: string,
): Result[] {
  const isComplete = Array.isArray(results) && results.length === count;
  if (!isComplete || !results.every((one) => typeof one?.ok === "boolean")) {
    throw new ConnectionError(`an unexpected answer: not one result for each of ${count} ${what}`);
  }
  return results;
}
