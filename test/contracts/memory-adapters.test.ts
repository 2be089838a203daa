/** Adapters in memory keep the contracts of their ports. */
import { describe } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/checkpoints/memory.ts"
import { openMemoryClaims } from "../../adapters/claims/memory.ts"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openMemoryDkimKeys } from "../../adapters/dkim-keys/memory.ts"
import { openMemoryLocks } from "../../adapters/locks/memory.ts"
import { openMemorySealing } from "../../adapters/sealing/memory.ts"
import { checkpointsContract } from "./checkpoints-contract.ts"
import { claimsContract } from "./claims-contract.ts"
import { dkimKeysContract } from "./dkim-keys-contract.ts"
import { describeLocks } from "./locks-contract.ts"

checkpointsContract("checkpoints in memory", async () => openMemoryCheckpoints())
claimsContract("claims in memory", async () => openMemoryClaims())
describeLocks("memory", () => {
  const locks = openMemoryLocks(machinePacer)
  return { mine: locks, theirs: locks }
})
describe("signing keys in memory", () => {
  dkimKeysContract(() => {
    const keys = openMemoryDkimKeys(openMemorySealing())
    return { keys, again: () => keys }
  })
})
