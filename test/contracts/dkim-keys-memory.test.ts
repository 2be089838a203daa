import { describe } from "vitest"
import { openMemoryDkimKeys } from "../../adapters/dkim-keys/memory.ts"
import { openMemorySealing } from "../../adapters/sealing/memory.ts"
import { dkimKeysContract } from "./dkim-keys-contract.ts"

describe("signing keys in memory", () => {
  dkimKeysContract(() => {
    const keys = openMemoryDkimKeys(openMemorySealing())
    return { keys, again: () => keys }
  })
})
