import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import { describeLocks } from "./locks-contract.ts"

describeLocks("memory", () => {
  const locks = openMemoryLocks(machinePacer)
  return { mine: locks, theirs: locks }
})
