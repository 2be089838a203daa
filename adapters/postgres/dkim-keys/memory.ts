import type { Sealing } from "../../sealing/port.ts"
import type { DkimRow, DkimRows } from "./kept.ts"
import { openSealedDkimKeys } from "./kept.ts"
import type { DkimKeys, DkimOwner } from "./port.ts"

/** Keys in this process's memory: the memory twin, for tests. Their errors are those of the port. */
export function openMemoryDkimKeys(sealing: Sealing): DkimKeys {
  return openSealedDkimKeys(memoryRows(), sealing)
}

function memoryRows(): DkimRows {
  const rows = new Map<string, DkimRow>()
  const placeOf = ({ companyId, sendingDomainId }: DkimOwner) => `${companyId} ${sendingDomainId}`
  return {
    find: async (owner) => rows.get(placeOf(owner)) ?? null,
    add: async (owner, row) => {
      if (!rows.has(placeOf(owner))) rows.set(placeOf(owner), row)
    },
    remove: async (owner) => void rows.delete(placeOf(owner)),
  }
}
