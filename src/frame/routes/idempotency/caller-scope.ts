/** What is kept apart for each caller. */
import type { Caller } from "../declare/route.ts"

/** Whose calls are counted to a rate, and whose last write a read waits for: those of a key. */
export function scopeOf({ key, person, companyId }: Caller): string {
  return key?.keyId ?? person?.personId ?? companyId
}

/**
 * Whose `Idempotency-Key`s they are: those of a key, and through the app's shared key of each person who
 * is signed in (decisions.md §6). Nobody is given another's answer.
 *
 * @returns `former`: where those of a shared key stood before persons were told apart; null for all others
 */
export function claimScopeOf(caller: Caller): {
  readonly scope: string
  readonly former: string | null
} {
  const { key, person } = caller
  if (key === null || key.personId !== null) return { scope: scopeOf(caller), former: null }
  return { scope: `${key.keyId}/${person?.personId ?? "nobody"}`, former: key.keyId }
}
