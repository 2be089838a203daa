/** Encodes facts for the store: canonical text and metadata, chained by hashes. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { createHash } from "node:crypto"
import canonicalize from "canonicalize"
import type { Charged } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec } from "../../domain/charging/ledger-events.ts"
import type { WrappedFact } from "../../src/frame/kernel/envelope.ts"
import { NO_HASH, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { Lap } from "../stopwatch.ts"
import { lap } from "../stopwatch.ts"
import { flatString } from "./generated-company.ts"

export interface EventWriter {
  /** Encodes facts. */
  readonly step: (facts: readonly Charged[]) => Lap
  /** Checks the texts of the last step. @throws InvalidMeasurement if one is wrong */
  readonly check: () => void
}

/** The stream to encode for. */
export const BENCH_STREAM = ledgerStreamOf("co_aaaaaa").stream

/** Starts a stream. */
export function openEventWriter(): EventWriter {
  let revision = 0
  let hash = NO_HASH
  let last: WrittenEvents = { facts: [], wrapped: [], revision, hash }
  return {
    step: (facts) => {
      const prepared = facts.map((fact) => {
        const { chargeId, keyId, personId } = fact
        const command = flatString(`req_${chargeId.slice(4)}`)
        return { fact, cause: { command, actor: null, keyId, personId, reason: null } }
      })
      const first = { revision, hash }
      const wrapped: WrappedFact[] = []
      const taken = lap(() => {
        for (const { fact, cause } of prepared) {
          const place = { stream: BENCH_STREAM, revision, previousHash: hash }
          const one = wrapFact(ledgerCodec, fact, place, cause)
          wrapped.push(one)
          hash = one.hash
          revision += 1
        }
        return prepared.length
      })
      last = { facts, wrapped, ...first }
      return taken
    },
    check: () => checkWrittenEvents(last),
  }
}

/** Encoded facts in sequence, and their first revision. */
export interface WrittenEvents {
  readonly facts: readonly Charged[]
  readonly wrapped: readonly WrappedFact[]
  readonly revision: number
  /** Hash of the fact before them. */
  readonly hash: string
}

/** Checks the texts of facts. @throws InvalidMeasurement if one is wrong */
export function checkWrittenEvents({ facts, wrapped, revision, hash }: WrittenEvents): void {
  assertMeasurement(facts.length > 0, "nothing was written down")
  assertMeasurement(wrapped.length === facts.length, "not every fact was written down")
  let before = hash
  for (const [i, fact] of facts.entries()) {
    const one = wrapped[i] as WrappedFact
    checkText(one, fact)
    before = checkHash(one, revision + i, before)
  }
}

/** Checks that a text is canonical and equals the fact. @throws InvalidMeasurement if not */
function checkText({ proposed: { type, data } }: WrappedFact, fact: Charged): void {
  const isCanonical = canonicalize(JSON.parse(data)) === data
  assertMeasurement(isCanonical, `no canonical text: ${data}`)
  const read = canonicalize(ledgerCodec.decode(type, ledgerCodec.version(fact.type), data))
  assertMeasurement(
    read === canonicalize(fact),
    `the text says something else than its fact: ${data}`,
  )
}

/** Checks that the hash covers the seven texts that `envelope.ts` names. @throws InvalidMeasurement if not */
function checkHash({ proposed, hash }: WrappedFact, revision: number, before: string): string {
  const { id, type, data, metadata } = proposed
  const { hash: stored, ...bare } = JSON.parse(metadata) as Record<string, unknown>
  const parts = [before, BENCH_STREAM, String(revision), type, id, data, canonicalize(bare)]
  const expected = createHash("sha256").update(parts.join("\n")).digest("hex")
  assertMeasurement(
    hash === expected && stored === expected,
    `revision ${revision} carries a wrong hash`,
  )
  return expected
}
