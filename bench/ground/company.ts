/** A company that spends through a runner, and the look at its stream afterwards. */
import { LEDGER, ledgerOf } from "../../domain/charging/aggregates.ts"
import { randomBytes } from "node:crypto"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Charge } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import { accountOf, openCharges, readLimits } from "../../domain/charging/ledger-views.ts"
import { causedBy, decodeStored } from "../../src/frame/kernel/envelope.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { honest } from "../benchmark.ts"
import { openAudit } from "../decide/audit.ts"
import type { CompanySize } from "../decide/company.ts"
import { companyOf } from "../decide/company.ts"
import { trafficOf } from "../decide/traffic.ts"
import type { Ground } from "./ground.ts"

/** Both sides of a ratio draw the same calls. */
const SEED = 20_261_121
/** What the keys with a small limit may spend a day: soon used up, so that some charges are refused. */
export const TIGHT_DAY_MICROS = 20_000_000
/** Charges that are handed to the runner together where only the result counts. */
const TOGETHER = 500
/** So many calls are drawn at a time, unless said otherwise. */
const DRAWN = 20_000

/** What a company stands on. */
export type CompanyGround = Pick<Ground, "store" | "wasToldAfterStore">

/** A company on a store. */
export interface SpendingCompany {
  readonly stream: string
  /** The charges that it has. */
  readonly charges: () => number
  /** Draws calls ahead, so that making them takes no time that is measured. */
  readonly draw: () => void
  /** The next call. Its charge is final: one event, and nothing has to end it. */
  readonly next: () => Charge
  /**
   * Has the next call decided by a runner. True where its charge was accepted and is stored.
   *
   * @throws Dishonest where it was told so before the store said it
   */
  readonly charge: (runner: Runner) => Promise<boolean>
  /** Has so many charges accepted, as fast as it goes. */
  readonly fill: (runner: Runner, charges: number, signal: AbortSignal) => Promise<void>
  /** Notes a charge that was accepted in another way. */
  readonly noteAccepted: () => void
  /**
   * Reads the stream again and compares it with what callers were told.
   *
   * @throws Dishonest where a charge is missing, was not told, or passed a limit or the funds
   */
  readonly check: (runner: Runner) => Promise<void>
}

/** Opens a company with limits on everything. */
export async function openCompany(
  ground: CompanyGround,
  runner: Runner,
  size: CompanySize,
  drawnAtOnce = DRAWN,
): Promise<SpendingCompany> {
  const stream = ledgerOf(`co_${randomBytes(9).toString("hex")}`)
  for (const command of companyOf(size, TIGHT_DAY_MICROS).opening) {
    const outcome = await runner.execute(stream, command, cause, undefined, 60_000)
    honest(outcome.accepted, `${command.type} was refused`)
  }
  return spendingOf(ground, { stream: stream.stream, size, drawnAtOnce, accepted: 0 })
}

/** Goes on with a company that was opened before; null where it was not opened to the end. */
export async function reopenCompany(
  ground: CompanyGround,
  stream: string,
  size: CompanySize,
): Promise<SpendingCompany | null> {
  let [facts, accepted] = [0, 0]
  for await (const page of ground.store.read(stream)) {
    facts += page.length
    for (const { type } of page) if (type === "Charged") accepted += 1
  }
  if (facts < companyOf(size, TIGHT_DAY_MICROS).opening.length) return null
  return spendingOf(ground, { stream, size, drawnAtOnce: DRAWN, accepted })
}

interface Spender {
  readonly stream: string
  readonly size: CompanySize
  readonly drawnAtOnce: number
  /** What was accepted before. */
  readonly accepted: number
}

const cause = causedBy("bench")
/** Refused calls have ids too: with so many for each that was accepted, none comes twice. */
const IDS_EACH = 2

function spendingOf({ store, wasToldAfterStore }: CompanyGround, begun: Spender): SpendingCompany {
  const { stream, size, drawnAtOnce } = begun
  const traffic = trafficOf(size, SEED + begun.accepted, begun.accepted * IDS_EACH)
  let drawn: readonly Charge[] = []
  let taken = 0
  let { accepted } = begun

  const draw = (): void => {
    drawn = traffic
      .charges(drawnAtOnce)
      .map(({ command }): Charge => ({ ...command, isPending: false }))
    taken = 0
  }
  const next = (): Charge => {
    if (taken >= drawn.length) draw()
    const call = drawn[taken] as Charge
    taken += 1
    return call
  }
  const charge = async (by: Runner): Promise<boolean> => {
    const call = next()
    const outcome = await by.execute({ aggregate: LEDGER, stream }, call, cause, undefined, 60_000)
    if (!outcome.accepted || outcome.facts.length === 0) return false
    wasToldAfterStore(stream, outcome.position, call.chargeId)
    accepted += 1
    return true
  }

  return {
    stream,
    charges: () => accepted,
    draw,
    next,
    charge,
    fill: async (by, charges, signal) => {
      const end = accepted + charges
      while (accepted < end) {
        signal.throwIfAborted()
        const some = Math.min(TOGETHER, end - accepted)
        await Promise.all(Array.from({ length: some }, () => charge(by)))
      }
    },
    noteAccepted: () => {
      accepted += 1
    },
    check: async (by) => {
      const audit = openAudit()
      for await (const event of factsOf(store, stream)) audit.record(event)
      const now = Date.now()
      const view = { fundsMicros: 0, openCharges: [] as readonly string[] }
      view.fundsMicros = (await by.readLatest({ aggregate: LEDGER, stream }, accountOf)).fundsMicros
      view.openCharges = await by.read({ aggregate: LEDGER, stream }, openCharges)
      const limits = await by.read({ aggregate: LEDGER, stream }, (state) => readLimits(state, now))
      audit.compare({ acknowledged: accepted, ...view, limits })
    },
  }
}

/** The facts of a ledger, read from its stream. */
async function* factsOf(store: EventStore, stream: string): AsyncGenerator<LedgerEvent> {
  for await (const page of store.read(stream)) {
    for (const stored of page) yield decodeStored(LEDGER.codec, stored)
  }
}
