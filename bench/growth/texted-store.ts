/**
 * Stores of companies that text, each text to a recipient of its own, so that nearly every stream is a
 * short one: decided by the domain and written by the runner, without calls, workers or providers.
 */
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { machinePacer } from "../../adapters/machine/clock/clock.ts"
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { startEmbedded } from "../../adapters/postgres/embedded/start-embedded.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId, KeyedHash, Sealed } from "../../domain/kernel/ids.ts"
import { resourceAt } from "../../domain/kernel/resource.ts"
import { recipientOf } from "../../domain/phone/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import type { Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { openHouse } from "../ground/house.ts"
import { timeLeft } from "../time-left.ts"

/** A text is charged, queued and accepted; the charges of so many are closed in one fact. */
const CLOSED_TOGETHER = 3
/** Texts that each fact stands for: a charge, a queued and an accepted text, and a part of a closing. */
const TEXTS_A_FACT = 1 / (3 + 1 / CLOSED_TOGETHER)
const TEXTS_EACH = 1_500
const FEWEST_COMPANIES = 3
/** Closings that are worked towards together. */
const TOGETHER = 96
const PRICE_MICROS = 9_000
/** A recipient is named by the digits of a SHA-256. */
const TAG_DIGITS = 64
const PLENTY = "1000000"

/** A company of a store, and what its texts say, sealed. */
interface Texting {
  readonly companyId: CompanyId
  readonly to: Sealed
  readonly body: Sealed
}

/** Writes a store of about so many facts into an empty folder, with an empty company; answers the ids of its companies. */
export async function writeTextedStore(
  folder: string,
  facts: number,
  { signal, report }: Pick<Setting, "signal" | "report">,
): Promise<readonly CompanyId[]> {
  const texts = Math.round(facts * TEXTS_A_FACT)
  const count = Math.max(FEWEST_COMPANIES, Math.round(texts / TEXTS_EACH))
  report(`texted store: ${count} companies are opened`)
  const { companies, empty } = await openCompanies(folder, count)
  const postgres = await startEmbedded({ dataDir: folder, log: () => undefined })
  const store = openPostgresEventStore({ url: postgres.url })
  try {
    const runner = openRunner({
      store,
      checkpoints: openMemoryCheckpoints(),
      clock: { now: () => Date.now() },
      pacer: machinePacer,
      locks: openMemoryLocks(machinePacer),
      warn: (what) => honest(false, `something went wrong meanwhile: ${String(what)}`),
    })
    const closings = Math.ceil(texts / CLOSED_TOGETHER)
    const clock = timeLeft(Math.ceil(closings / TOGETHER))
    for (let done = 0; done < closings; done += TOGETHER) {
      signal.throwIfAborted()
      report(
        `texted store: ${done * CLOSED_TOGETHER} of ${texts} texts are written${clock.words()}`,
      )
      const writing = Array.from({ length: Math.min(TOGETHER, closings - done) }, (_, i) =>
        writeTexts(runner, companies[(done + i) % companies.length] as Texting, done + i),
      )
      await Promise.all(writing)
      clock.done()
    }
  } finally {
    await store.close()
    await postgres.stop()
  }
  return [...companies.map(({ companyId }) => companyId), empty]
}

async function openCompanies(folder: string, count: number) {
  const house = await openHouse(folder)
  try {
    const { operate, ports } = house
    const create = async (name: string, funds: string) =>
      ((await operate("company create", { name, funds })) as { companyId: CompanyId }).companyId
    const companies: Texting[] = []
    while (companies.length < count) {
      const companyId = await create(`texting ${companies.length}`, PLENTY)
      const seal = (text: string) => ports.sealing.seal(companyId, companyId, text)
      const [to, body] = [await seal("+14155550100"), await seal("Your table is ready.")]
      companies.push({ companyId, to, body })
    }
    const empty = await create("empty", "0")
    await house.settle()
    return { companies, empty }
  } finally {
    await house.close()
  }
}

/** Charges, queues and accepts texts, each to a recipient of its own, and closes their charges. */
async function writeTexts(runner: Runner, company: Texting, closing: number): Promise<void> {
  const ledger = ledgerOf(company.companyId)
  const cause = causedBy(`closing ${closing}`)
  const ids = Array.from({ length: CLOSED_TOGETHER }, (_, i) => closing * CLOSED_TOGETHER + i)
  const chargeIds = await Promise.all(ids.map((id) => writeText(runner, company, id)))
  const closed = await runner.execute(ledger, { type: "CloseCharges", chargeIds }, cause)
  honest(closed.accepted, `the charges of closing ${closing} were not closed`)
}

async function writeText(
  runner: Runner,
  { companyId, to, body }: Texting,
  id: number,
): Promise<ChargeId> {
  const digits = String(id).padStart(22, "0")
  const [chargeId, messageId] = [`chg_${digits}`, `msg_${digits}`] as const
  const tag = digits.padStart(TAG_DIGITS, "a") as KeyedHash
  const cause = causedBy(`text ${id}`)
  const charged = await runner.execute(
    ledgerOf(companyId),
    {
      type: "Charge",
      chargeId,
      via: "company",
      keyId: null,
      personId: null,
      class: "general",
      item: "text_segment",
      quantity: 1,
      unitPriceMicros: PRICE_MICROS,
      priceVersion: 0,
      amountMicros: PRICE_MICROS,
      resource: resourceAt(messageId, tag),
      requestedAt: Date.now(),
      dueAt: null,
      servedFrom: null,
      isPending: true,
      exemption: null,
      searchedTo: null,
    },
    cause,
  )
  honest(charged.accepted, `text ${id} was not charged`)
  const recipient = recipientOf(companyId, tag)
  const prepared = { body, segments: 1, amountMicros: PRICE_MICROS }
  const queued = await runner.execute(
    recipient,
    {
      type: "QueueText",
      messageId,
      chargeId,
      chargedMicros: PRICE_MICROS,
      numberId: "num_1",
      to,
      asWritten: prepared,
      withLine: null,
      keyId: null,
      personId: null,
    },
    cause,
  )
  honest(queued.accepted, `text ${id} was not queued`)
  const accepted = { type: "AcceptText" as const, messageId, carrierId: digits }
  honest((await runner.execute(recipient, accepted, cause)).accepted, `text ${id} was not accepted`)
  return chargeId
}
