/** What is kept apart for each caller. */
import type { Caller } from "./route.ts"

/** What a key may do: for claims, and for where it wrote last. */
export function scopeOf({ key, person, companyId }: Caller): string {
  return key?.keyId ?? person?.personId ?? companyId
}
