/**
 * What charging is measured against: each caller loads, decides, appends and begins anew where
 * somebody else was quicker, with the same rules and forms, and without a queue. It has it easy: a
 * caller keeps the state it had and reads only what is new since.
 */
import { LEDGER } from "../../domain/charging/aggregates.ts"
import { WrongRevision } from "../../adapters/eventstore/port.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { causedBy, wrap } from "../../src/frame/kernel/envelope.ts"
import { foldNews, loadStream } from "../../src/frame/writer/runner/load.ts"
import type { SpendingCompany } from "../ground/company.ts"
import type { Ground } from "../ground/ground.ts"

/** Opens a caller of its own: it has the company's next call decided, and says whether it was accepted. */
export async function openRival(
  { store, checkpoints, clock }: Ground,
  company: SpendingCompany,
): Promise<() => Promise<boolean>> {
  const { stream } = company
  const cause = causedBy("bench")
  const loaded = await loadStream({ store, checkpoints }, LEDGER, stream)
  return async () => {
    const command = company.next()
    for (;;) {
      await foldNews(store, LEDGER, loaded, stream)
      const { state, revision, hash } = loaded
      const stamp = { at: Math.max(clock.now(), loaded.at), headHash: hash }
      const decided = ledger.decide(command, state, stamp)
      if (isRefusal(decided)) return false
      let previousHash = hash
      const proposed = decided.map((fact, i) => {
        const place = { stream, revision: revision + 1 + i, previousHash }
        const one = wrap(LEDGER.codec, fact, place, cause)
        previousHash = one.hash
        return one.proposed
      })
      try {
        await store.append(stream, proposed, revision)
      } catch (error) {
        if (error instanceof WrongRevision) continue
        throw error
      }
      company.noteAccepted()
      return true
    }
  }
}
