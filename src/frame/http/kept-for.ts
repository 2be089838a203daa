/** What many ask for at once, found out once. */
import type { Ports } from "../ports.ts"

/** Does something at most once in a while; who asks in between gets what came of it. */
export function keptFor<T>(
  keptMs: number,
  { pacer }: Pick<Ports, "pacer">,
  work: () => Promise<T>,
): () => Promise<T> {
  let kept: Promise<T> | null = null
  let since = 0
  return () => {
    const now = pacer.elapsedMs()
    if (kept === null || now - since >= keptMs) {
      since = now
      kept = work()
    }
    return kept
  }
}
