import type { Leases } from "../../adapters/processes/port.ts"

/** Everybody who asks has all leases at once. */
export const EVERYBODY: Leases = {
  ask: async (names, onChange) => {
    for (const name of names) onChange(name, true)
    return { giveUp: async () => undefined }
  },
}
