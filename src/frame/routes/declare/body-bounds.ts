/** What bodies are bounded by, unless a route says otherwise. */

/** How many bytes a body may have where its route says nothing. */
export const BODY_LIMIT_BYTES = 1024 * 1024
/** How long a body may take to come where its route says nothing. */
export const BODY_WITHIN_MS = 30_000
