/**
 * Writes the fixture of `test/data/upgrade/`: an installation that was killed while it worked, a backup of
 * it, and facts about both. Run by hand, once for each fixture; see the README of that folder.
 */
import { existsSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { expect, vi } from "vitest"
import { locatedResource } from "../../domain/kernel/resource.ts"
import { JOBS_PROJECTION, DELAYED_JOBS_PROJECTION } from "../../projections/kernel/jobs.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import { writeBackup } from "../../src/storage/write-backup.ts"
import { crashAtStep, portsFailingAt } from "../api/interrupted-requests.ts"
import { buyFunds, makeBuyer } from "../credits/buy-funds.ts"
import { executeLedgerCommand } from "../effects/spending.ts"
import {
  SEGMENT_MICROS,
  setCarrierOutcome,
  sendTextForId,
  silenceStatusChecks,
} from "../effects/texts.ts"
import { executeSql, testDatabase } from "../support/test-database.ts"
import type { Company, World } from "../support/world.ts"
import { callWithPorts, makeCompany, openWorld, setLimit } from "../support/world.ts"

const TEXTS = "/api/v1/phone/messages"
const RUNNING = { to: "+14155550106", body: "Running" }
const UNKNOWN_OUTCOME = { to: "+14155550107", body: "In doubt" }
/** The fixture holds no read models, so it holds none of their positions. */
const ROWS_OF: Readonly<Record<string, string>> = {
  "ledger.projections": `where name in ('${JOBS_PROJECTION}', '${DELAYED_JOBS_PROJECTION}')`,
}

/** Writes the installation, its backup and facts about both. @throws if the folder already has an installation */
export async function writeInstallation(folder: string): Promise<void> {
  const known = join(folder, "known.json")
  if (existsSync(known)) throw new Error(`${known} exists, and a fixture is never changed`)
  const { url, drop } = await testDatabase()
  const before = await openWorld("time", { url })
  const erased = await eraseCompany(before)
  const company = await makeCompany(before)
  const buyer = await makeBuyer(before)
  await spendEarly(before, company)
  // The restart writes checkpoints.
  const world = await before.restart()
  const texts = await sendTexts(world, company)
  const purchase = await startPurchase(world, buyer)
  await world.operate("wait")
  await world.ports.runHousekeeping()
  // From here on all jobs wait, as if the process were killed.
  await world.ports.jobWorkers.stop()
  await setCarrierOutcome(world, "ok")
  await reachReminder(world, company)
  const queued = await sendWithKey(world, company, "+14155550104", "Queued", "queued-answer")
  await chargeWithoutText(world, company)
  await beginRequests(world, company)
  await world.ports.flush()
  await world.ports.projector.waitUntilWritten(await world.ports.store.head(), 60_000)
  const { balanceMicros: funds } = await world.operate("company show", {
    company: company.companyId,
  })
  const { now } = await world.operate("clock show")
  const database = await writeTables(url, join(folder, "installation.rows"))
  const backup = await writeBackupOf(world, company, join(folder, "installation.backup"))
  const found = {
    erased,
    company,
    buyer,
    ...texts,
    purchase,
    queued,
    running: RUNNING,
    doubt: UNKNOWN_OUTCOME,
    funds,
    now,
    ...database,
    backup,
  }
  await writeFile(known, `${JSON.stringify(found, null, 2)}\n`)
  await world.close()
  await drop()
}

/** Deletes a company, which is erased two weeks later. @returns its id */
async function eraseCompany(world: World): Promise<string> {
  await world.operate("clock set", { to: "2027-01-10T12:00:00Z" })
  const { companyId } = await makeCompany(world)
  await world.operate("company delete", { company: companyId })
  await world.operate("clock advance", { duration: "14d" })
  await world.operate("clock set", { to: "2027-01-25T12:00:00Z" })
  const { deleted } = await world.operate("company show", { company: companyId })
  expect(deleted).toMatchObject({ erased: expect.any(String) })
  return companyId
}

async function spendEarly(world: World, { companyId }: Company): Promise<void> {
  for (const id of ["early-0", "early-1", "early-2", "early-3", "early-4"]) {
    const charge = { company: companyId, class: "ai", dollars: "0.01", item: "chat", id }
    await world.operate("charge", charge)
  }
}

/** Sends four texts: one delivered, one stuck, one without an outcome yet, and one that is retried. */
async function sendTexts(world: World, company: Company) {
  const sent = await sendWithKey(world, company, "+14155550100", "Delivered", "kept-answer")
  await world.operate("wait")
  await world.operate("carrier deliver", { messageId: sent.id, status: "delivered" })
  silenceStatusChecks(world)
  await setCarrierOutcome(world, "silent", 1)
  const stuck = await sendTextForId(world, company, "+14155550101", "Stuck")
  await world.operate("clock set", { to: "2027-01-28T20:00:00Z" })
  vi.restoreAllMocks()
  await setCarrierOutcome(world, "silent", 1)
  const silent = await sendTextForId(world, company, "+14155550102", "Silent")
  await world.operate("wait")
  await setCarrierOutcome(world, "unavailable")
  const retried = await sendTextForId(world, company, "+14155550103", "Tried again")
  await world.operate("wait")
  return { delivered: sent, stuck, silent, retried }
}

/** Sends a text with an `Idempotency-Key`. @returns the API's answer */
async function sendWithKey(world: World, { key }: Company, to: string, body: string, name: string) {
  const headers = { "idempotency-key": name }
  const { status, body: answer } = await world.call(key, "POST", TEXTS, {
    body: { to, body },
    headers,
  })
  expect(status).toBe(200)
  return answer
}

async function startPurchase(world: World, { companyId, key }: Company): Promise<object> {
  await world.operate("card set", { company: companyId, outcome: "processing" })
  const { status, body } = await buyFunds(world, key, 20, "buy-20")
  expect(status).toBe(202)
  return body
}

async function reachReminder(world: World, company: Company): Promise<void> {
  await setLimit(world, company, { dollars: "20", reminders: ["0.10", "19"] })
  const charge = { class: "general", dollars: "0.50", item: "chat", id: "run-1" }
  await world.operate("charge", { company: company.companyId, ...charge })
}

/** Makes a pending charge, as a process leaves it when it is killed before it queues the text. */
async function chargeWithoutText(world: World, company: Company): Promise<void> {
  const { companyId, keyId, ownerId } = company
  const tag = await world.ports.sealing.tag(companyId, "+14155550105")
  await executeLedgerCommand(world, companyId, {
    type: "Charge",
    chargeId: "chg_without_text",
    via: "own_key",
    keyId,
    personId: ownerId,
    class: "general",
    item: "text_segment",
    quantity: 1,
    unitPriceMicros: SEGMENT_MICROS,
    priceVersion: 1,
    amountMicros: SEGMENT_MICROS,
    resource: locatedResource("msg_never_queued", tag),
    requestedAt: world.ports.clock.now(),
    dueAt: null,
    servedFrom: null,
    isPending: true,
    exemption: null,
    searchedUpTo: null,
  })
}

/** Leaves two requests: a charged one of a killed process, and one with an unknown outcome before its text was queued. */
async function beginRequests(world: World, { key }: Company): Promise<void> {
  await crashAtStep(
    world,
    { step: "Charge", when: "after" },
    { key, url: TEXTS, body: RUNNING, idempotencyKey: "running" },
  )
  // The killed process is still registered, because no other process has noticed yet.
  await executeSql(
    world.databaseUrl,
    `update ledger.idempotent_requests set process_id = (select process_id from ledger.processes)
     where idempotency_key = 'running'`,
  )
  const fault = new OutcomeUnknown("the connection broke")
  const ports = portsFailingAt(world, { step: "QueueText", when: "before" }, fault)
  const { status } = await callWithPorts(ports, key, "POST", TEXTS, {
    body: UNKNOWN_OUTCOME,
    headers: { "idempotency-key": "in-doubt" },
  })
  expect(status).toBe(503)
}

/** Writes each row as table name, tab and JSON. @returns the migrations and the last values of sequences */
async function writeTables(url: string, file: string) {
  const client = new pg.Client(url)
  await client.connect()
  const rowsOf = async (statement: string) =>
    (await client.query<{ name: string; value: string }>(statement)).rows
  try {
    await client.query("set time zone 'UTC'")
    const tables = await rowsOf(`
      select schemaname || '.' || tablename as name from pg_tables
      where schemaname in ('eventstore', 'ledger') and tablename not like 'kysely%' order by 1`)
    const lines: string[] = []
    for (const { name } of tables) {
      const rows = await rowsOf(
        `select '${name}' as name, row_to_json(t)::text as value from ${name} t ${ROWS_OF[name] ?? ""} order by t`,
      )
      lines.push(...rows.map(({ value }) => `${name}\t${value}\n`))
    }
    await writeFile(file, lines.join(""))
    const migrations = await rowsOf("select name from ledger.kysely_migration order by name")
    const sequences = await rowsOf(`
      select schemaname || '.' || sequencename as name, last_value::text as value from pg_sequences
      where schemaname in ('eventstore', 'ledger') and last_value is not null order by 1`)
    return {
      migrations: migrations.map(({ name }) => name),
      sequences: Object.fromEntries(sequences.map(({ name, value }) => [name, Number(value)])),
    }
  } finally {
    await client.end()
  }
}

/** Writes a backup with two more mails: one sent, and one that bounced for one of its two recipients. */
async function writeBackupOf(world: World, { companyId }: Company, file: string) {
  const { mailer, backupSet: tables, store } = world.ports
  for (const [mailId, outcome, people] of [
    ["mail_former_0", "ok", ["b"]],
    ["mail_former_1", "ok", ["z"]],
    ["mail_former_1", "bounce", ["z", "a"]],
  ] as const) {
    await world.operate("simulator set", { name: "mail", outcome })
    const recipients = people.map((one) => ({
      personId: `per_${one}` as const,
      address: `${one}@example.com`,
    }))
    const subject = `Subject of ${mailId}`
    await mailer.sendSystemMail({
      mailId,
      companyId,
      recipients,
      subject,
      text: "A text",
      about: null,
    })
  }
  await world.operate("simulator set", { name: "mail", outcome: "ok" })
  let text = ""
  const { events, rows } = await writeBackup({
    tables,
    store,
    send: async (piece) => {
      text += piece
    },
    progress: () => undefined,
    signal: new AbortController().signal,
  })
  await writeFile(file, text)
  return { events, rows }
}
