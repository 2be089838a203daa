/**
 * A request that was begun before, by a process that died or left it in doubt. What that process had sent
 * to the store may still be on its way: a database carries out what it was asked for even where nobody
 * hears its answer. So whoever goes on and finds nothing may be told no by the very charge that arrives
 * a moment later, and a no that names it would be wrong.
 */
import type { Seed } from "../declare/route.ts"

/** How a request that was taken over is carried out; `T` is what it comes to. */
export interface Steps<T> {
  /** Finds what was done of an attempt and goes on from there; the same seed where nothing is found. */
  readonly resume: (seed: Seed) => Promise<{ readonly came: T } | { readonly seed: Seed }>
  /** Carries the attempt out. */
  readonly perform: (seed: Seed) => Promise<T>
  /** Whether it is a refusal that frees the key. */
  readonly isNo: (came: T) => boolean
}

/** What a request came to. */
export interface CameTo<T> {
  readonly came: T
  /** Whether nothing more of this attempt can be stored; where it can, its key is kept for it. */
  readonly isOver: boolean
}

/**
 * Carries a request out that was taken over. Before a no is told it is looked for once more: the state
 * that said no has all that was stored until then, so a charge of this request that is part of the
 * reason is found. What arrives later still is found by the same request, if it comes again.
 */
export async function goOnWith<T>(
  seed: Seed,
  { resume, perform, isNo }: Steps<T>,
): Promise<CameTo<T>> {
  const found = await resume(seed)
  if ("came" in found) return { came: found.came, isOver: true }
  const came = await perform(found.seed)
  // An attempt that follows on one that is over was begun by nobody else.
  if (found.seed !== seed || !isNo(came)) return { came, isOver: true }
  const again = await resume(seed)
  if ("came" in again) return { came: again.came, isOver: true }
  return { came, isOver: again.seed !== seed }
}
