/** An installation with data of every kind, and its backups, restored into other databases. */
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { restoreBackup } from "../../src/bootstrap/maintenance/restore-backup.ts"
import { writeBackup } from "../../src/storage/write-backup.ts"
import { addVerifiedDomain } from "../email/mail-world.ts"
import { testDatabase } from "../support/test-database.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld, setLimit } from "../support/world.ts"

/** The API's path of text messages. */
export const MESSAGES_PATH = "/api/v1/phone/messages"

/** Makes an installation with data of every kind. */
export async function makeUsedInstallation(location: {
  readonly url: string
  readonly eventStoreUrl?: string
}) {
  const world = await openWorld("time", location)
  const company = await makeCompany(world)
  const { companyId, key } = company
  const body = { to: "+14155550101", body: "hello" }
  await world.call(key, "POST", MESSAGES_PATH, { body, headers: { "idempotency-key": "one" } })
  // A sending domain has a key that is not stored as a fact.
  await addVerifiedDomain(world.ports, companyId, "acme.example")
  await world.operate("simulator set", { name: "carrier", outcome: "silent", times: 1 })
  await setLimit(world, company, { class: "ai", period: "week", dollars: "5", reminders: ["0.10"] })
  const charge = { company: companyId, class: "ai", dollars: "0.42", item: "chat", id: "run-1" }
  await world.operate("charge", charge)
  await world.operate("wait")
  // Housekeeping creates the signing key before the backup, not after it.
  await world.ports.runHousekeeping()
  return { world, ...company }
}

/** Database, event store and master key for a restore. */
export interface RestoreLocation {
  readonly url: string
  readonly eventStoreUrl?: string
  readonly masterKey?: string
}

const progress = () => undefined

/** Backups of the calling test file; each test has its own folder, and everything it opens is closed after it. */
export function openBackups() {
  const closing: (() => unknown)[] = []
  let folder: string
  const file = () => join(folder, "backup")
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "ledger-backup-"))
    closing.push(() => rm(folder, { recursive: true, force: true }))
  })
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })
  return {
    closing,
    file,
    /** The address of a new database. */
    database: async () => {
      const { url, drop } = await testDatabase()
      closing.push(drop)
      return url
    },
    /** Writes a backup with the events of a store. @returns the summary and the file's text */
    backUp: async (
      { ports }: Pick<World, "ports">,
      {
        store = ports.store,
        onPiece = async () => undefined,
        putIn: addBundles,
      }: {
        readonly store?: World["ports"]["store"]
        readonly onPiece?: () => Promise<void>
        readonly putIn?: Parameters<typeof writeBackup>[0]["addBundles"]
      } = {},
    ) => {
      let text = ""
      const written = await writeBackup({
        tables: ports.backupSet,
        store,
        send: async (piece) => {
          text += piece
          await onPiece()
        },
        progress,
        signal: new AbortController().signal,
        ...(addBundles === undefined ? {} : { addBundles }),
      })
      await writeFile(file(), text)
      return { ...written, text }
    },
    /** Restores the backup; repositories are written to the folder `code`. */
    restore: (location: RestoreLocation, signal = new AbortController().signal) => {
      const config = readConfig({
        DATABASE_URL: location.url,
        LEDGER_EVENTSTORE_URL: location.eventStoreUrl,
        LEDGER_MASTER_KEY: location.masterKey,
        LEDGER_DATA_DIR: join(folder, "data"),
        LEDGER_CLOCK: "test",
        CODE_DIR: join(folder, "code"),
      })
      const log = { info: () => undefined, warn: () => undefined }
      return restoreBackup(config, file(), log, { progress, signal })
    },
    codeDir: () => join(folder, "code"),
  }
}
