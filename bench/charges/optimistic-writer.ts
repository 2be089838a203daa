/**
 * What charging is measured against: each caller loads, decides, appends and begins anew where
 * somebody else was quicker, with the same rules and forms, and without a queue. It has it easy: a
 * caller keeps the state it had and reads only what is new since.
 */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { WrongRevision } from "../../adapters/eventstore/port.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { foldNewEvents, loadStream } from "../../src/frame/writer/runner/load.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** Opens a caller of its own: it has the company's next call decided, and says whether it was accepted. */
export async function openOptimisticWriter(
  { store, checkpoints, clock }: StoreEnvironment,
  company: SpendingCompany,
): Promise<() => Promise<boolean>> {
  const { stream } = company
  const cause = causedBy("bench")
  const loaded = await loadStream({ store, checkpoints }, LEDGER_AGGREGATE, stream)
  return async () => {
    const command = company.nextCall()
    for (;;) {
      await foldNewEvents(store, LEDGER_AGGREGATE, loaded, stream)
      const { state, revision, hash } = loaded
      const stamp = { at: Math.max(clock.now(), loaded.at), headHash: hash }
      const decided = ledgerDecider.decide(command, state, stamp)
      if (isRefusal(decided)) return false
      let previousHash = hash
      const proposed = decided.map((fact, i) => {
        const place = { stream, revision: revision + 1 + i, previousHash }
        const one = wrapFact(LEDGER_AGGREGATE.codec, fact, place, cause)
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
