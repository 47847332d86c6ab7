/**
 * The texts of heartbeat-loop.ts and node-fetch.ts as JavaScript, which the thread of heartbeats runs; the
 * build puts them in. As texts they survive bundlers, which would rename what they use, or lose them as
 * files.
 */
export const HEARTBEAT_SOURCE: string = "heartbeat-loop: put in by scripts/build.mjs";
export const NODE_FETCH_SOURCE: string = "node-fetch: put in by scripts/build.mjs";
