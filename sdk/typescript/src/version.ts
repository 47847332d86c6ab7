/** The version of this package. */
export const VERSION = "0.1.0";

/** How a worker introduces itself to the server. */
export const LIBRARY = `steadfast-typescript/${VERSION}`;
