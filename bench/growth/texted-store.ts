/**
 * Writes stores of companies that send texts, each to another recipient, so that nearly every stream is short. The
 * domain decides and the runner writes them, without API calls, workers or providers.
 */
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { startEmbeddedPostgres } from "../../adapters/postgres/embedded/start-embedded.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId, KeyedHash, SealedText } from "../../domain/kernel/ids.ts"
import { locatedResource } from "../../domain/kernel/resource.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type { BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { timeLeft } from "../time-left.ts"

/** A text is charged, queued and accepted; one fact settles so many charges. */
const SETTLED_TOGETHER = 3
/** Texts per fact: a text has a charge, a queued and an accepted fact, and a share of a settlement. */
const TEXTS_PER_EVENT = 1 / (3 + 1 / SETTLED_TOGETHER)
const TEXTS_EACH = 1_500
const MIN_COMPANIES = 3
/** Number of settlements that are prepared concurrently. */
const CONCURRENCY = 96
const PRICE_MICROS = 9_000
/** Recipients are named by the digits of a SHA-256. */
const TAG_DIGITS = 64
const AMPLE_FUNDS = "1000000"

interface TextingCompanyKeys {
  readonly companyId: CompanyId
  readonly to: SealedText
  readonly body: SealedText
}

/** Writes a store of about so many facts into an empty folder, with an empty company; returns the companies' ids. */
export async function writeTextedStore(
  folder: string,
  facts: number,
  { signal, report }: Pick<BenchmarkContext, "signal" | "report">,
): Promise<readonly CompanyId[]> {
  const texts = Math.round(facts * TEXTS_PER_EVENT)
  const count = Math.max(MIN_COMPANIES, Math.round(texts / TEXTS_EACH))
  report(`texted store: ${count} companies are opened`)
  const { companies, empty } = await openCompanies(folder, count)
  const postgres = await startEmbeddedPostgres({ dataDir: folder, log: () => undefined })
  const store = openPostgresEventStore({ url: postgres.url })
  try {
    const runner = openRunner({
      store,
      checkpoints: openMemoryCheckpoints(),
      clock: { now: () => Date.now() },
      pacer: machinePacer,
      locks: openMemoryLocks(machinePacer),
      warn: (what) => assertMeasurement(false, `something went wrong meanwhile: ${String(what)}`),
    })
    const closings = Math.ceil(texts / SETTLED_TOGETHER)
    const clock = timeLeft(Math.ceil(closings / CONCURRENCY))
    for (let done = 0; done < closings; done += CONCURRENCY) {
      signal.throwIfAborted()
      report(
        `texted store: ${done * SETTLED_TOGETHER} of ${texts} texts are written${clock.words()}`,
      )
      const writing = Array.from({ length: Math.min(CONCURRENCY, closings - done) }, (_, i) =>
        writeTexts(
          runner,
          companies[(done + i) % companies.length] as TextingCompanyKeys,
          done + i,
        ),
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
  const house = await openBenchInstallation(folder)
  try {
    const { operate, ports } = house
    const create = async (name: string, funds: string) =>
      ((await operate("company create", { name, funds })) as { companyId: CompanyId }).companyId
    const companies: TextingCompanyKeys[] = []
    while (companies.length < count) {
      const companyId = await create(`texting ${companies.length}`, AMPLE_FUNDS)
      const seal = (text: string) => ports.sealing.seal(companyId, companyId, text)
      const [to, body] = [await seal("+14155550100"), await seal("Your table is ready.")]
      companies.push({ companyId, to, body })
    }
    const empty = await create("empty", "0")
    await house.waitUntilIdle()
    return { companies, empty }
  } finally {
    await house.close()
  }
}

/** Charges, queues and accepts texts, each to another recipient, and settles their charges. */
async function writeTexts(
  runner: Runner,
  company: TextingCompanyKeys,
  closing: number,
): Promise<void> {
  const ledger = ledgerStreamOf(company.companyId)
  const cause = causedBy(`closing ${closing}`)
  const ids = Array.from({ length: SETTLED_TOGETHER }, (_, i) => closing * SETTLED_TOGETHER + i)
  const chargeIds = await Promise.all(ids.map((id) => writeText(runner, company, id)))
  const closed = await runner.execute(ledger, { type: "SettleCharges", chargeIds }, cause)
  assertMeasurement(closed.accepted, `the charges of closing ${closing} were not closed`)
}

async function writeText(
  runner: Runner,
  { companyId, to, body }: TextingCompanyKeys,
  id: number,
): Promise<ChargeId> {
  const digits = String(id).padStart(22, "0")
  const [chargeId, messageId] = [`chg_${digits}`, `msg_${digits}`] as const
  const tag = digits.padStart(TAG_DIGITS, "a") as KeyedHash
  const cause = causedBy(`text ${id}`)
  const charged = await runner.execute(
    ledgerStreamOf(companyId),
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
      resource: locatedResource(messageId, tag),
      requestedAt: Date.now(),
      dueAt: null,
      servedFrom: null,
      isPending: true,
      exemption: null,
      searchedUpTo: null,
    },
    cause,
  )
  assertMeasurement(charged.accepted, `text ${id} was not charged`)
  const recipient = recipientStreamOf(companyId, tag)
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
      withoutOptOutLine: prepared,
      withOptOutLine: null,
      keyId: null,
      personId: null,
    },
    cause,
  )
  assertMeasurement(queued.accepted, `text ${id} was not queued`)
  const accepted = { type: "AcceptText" as const, messageId, carrierId: digits }
  assertMeasurement(
    (await runner.execute(recipient, accepted, cause)).accepted,
    `text ${id} was not accepted`,
  )
  return chargeId
}
