import type { KeyObject } from "node:crypto"
import { sealingBy } from "./by-keys.ts"
import { keyOf, newKey } from "./cipher.ts"
import type { Sealing } from "./port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** Sealing with keys in this process's memory: the memory twin, for tests. It seals as the other does. */
export function openMemorySealing(): Sealing & {
  /** Destroys a company's key and those of its subjects; none is ever made for it again. */
  readonly destroyKeys: (companyId: CompanyId) => void
} {
  const keys = new Map<string, KeyObject>()
  const destroyed = new Set<string>()
  const keyAt = async (companyId: CompanyId, place: string, make: boolean) => {
    if (destroyed.has(companyId)) return null
    const known = keys.get(place)
    if (known !== undefined || !make) return known ?? null
    const made = keyOf(newKey())
    keys.set(place, made)
    return made
  }
  return {
    ...sealingBy(newKey(), {
      company: (companyId, make) => keyAt(companyId, companyId, make),
      subject: (companyId, subject, make) => keyAt(companyId, `${companyId}/${subject}`, make),
    }),
    destroyKeys: (companyId) => void destroyed.add(companyId),
  }
}
