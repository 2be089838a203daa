/** What every implementation of the locks' port does: one suite for all. */
import { describe, expect, it } from "vitest"
import type { Locks, Release } from "../../adapters/locks/port.ts"

/** Two processes' locks on the same things. */
export interface LocksUnderTest {
  readonly mine: Locks
  readonly theirs: Locks
}

/** Takes a lock that must be free. @throws Error where it is not */
export async function taken(locks: Locks, name: string): Promise<Release> {
  const release = await locks.take(name, 10_000)
  if (release === null) throw new Error(`${name} is not free`)
  return release
}

/** Adds the suite for one implementation. */
export function describeLocks(name: string, open: () => LocksUnderTest): void {
  describe(`${name} locks`, () => {
    it("are held by one, and by the next once they are given back", async () => {
      const { mine, theirs } = open()
      const release = await taken(mine, "ledger-a")
      expect(await theirs.take("ledger-a", 20)).toBeNull()
      expect(await mine.take("ledger-a", 20)).toBeNull()
      await release()
      const next = await taken(theirs, "ledger-a")
      expect(await mine.take("ledger-a", 20)).toBeNull()
      await next()
    })

    it("of different names have nothing to do with one another", async () => {
      const { mine, theirs } = open()
      const one = await taken(mine, "ledger-b")
      const two = await taken(theirs, "ledger-c")
      await Promise.all([one(), two()])
      const again = await taken(mine, "ledger-c")
      await again()
      expect(again).not.toBe(two)
    })

    it("are waited for", async () => {
      const { mine, theirs } = open()
      const release = await taken(mine, "ledger-d")
      const waiting = taken(theirs, "ledger-d")
      await release()
      const next = await waiting
      expect(await mine.take("ledger-d", 20)).toBeNull()
      await next()
    })

    it("let one of many in at a time", async () => {
      const { mine, theirs } = open()
      let inside = 0
      let most = 0
      const enter = async (locks: Locks) => {
        const release = await taken(locks, "ledger-e")
        inside += 1
        most = Math.max(most, inside)
        await new Promise(setImmediate)
        inside -= 1
        await release()
      }
      await Promise.all(Array.from({ length: 12 }, (_, i) => enter(i % 2 === 0 ? mine : theirs)))
      expect(most).toBe(1)
    })
  })
}
