/**
 * The text of heartbeat-loop.ts as JavaScript, which the thread of heartbeats runs; the build puts it in.
 * As a text it survives bundlers, which would rename what it uses, or lose it as a file.
 */
export const HEARTBEAT_SOURCE: string = "put in by scripts/build.mjs";
