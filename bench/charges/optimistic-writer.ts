/**
 * The design to compare with: each caller loads, decides and appends without a queue, and starts again after a conflict.
 * It has the same rules and formats and an advantage: a caller keeps its state and reads only newer events.
 */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { WrongRevision } from "../../adapters/eventstore/port.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { causedBy, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { foldNewEvents, loadStream } from "../../src/frame/writer/runner/load.ts"
import type { SpendingCompany } from "../fixtures/spending-company.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"

/** Opens a caller: it decides the company's next call and returns whether it was accepted. */
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
