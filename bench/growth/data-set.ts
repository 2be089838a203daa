/**
 * Data that takes long to write and is kept from run to run: a folder with a database, and a note of
 * what of it is there. The note says for which code the data were written; other code makes them anew.
 */
import { PROGRAM } from "../../src/slices.ts"
import { hash } from "node:crypto"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { holdFolder, openDataFolder } from "../../adapters/machine/data-folder/data-folder.ts"
import { MIGRATIONS } from "../../adapters/postgres/migrate.ts"
import { CannotWrite, openOutFile } from "../../src/frame/operator/cli/out-file.ts"
import type { Setting } from "../benchmark.ts"

/** A data set that is open. */
export interface DataSet<T> {
  /** Where its database lives. */
  readonly databaseDir: string
  /** What of it is there. */
  readonly there: () => T
  /** Notes that this is there: whole or not at all, also where the machine stops meanwhile. */
  readonly note: (there: T) => Promise<void>
  /** Lets others use it. What is there stays. */
  readonly release: () => Promise<void>
}

/** Which data. */
export interface DataSetOf<T> {
  readonly name: string
  /** Raised whenever what is written changes. */
  readonly form: number
  /** What is there of a data set that is not there yet. */
  readonly empty: T
}

interface Note<T> {
  readonly version: string
  readonly there: T
}

/** Data of another one of these are data of another program. */
function versionOf(form: number): string {
  const models = PROGRAM.readModels.map(({ name, version, create }) => [name, version, create])
  const made = JSON.stringify([form, Object.keys(MIGRATIONS), models, process.versions.modules])
  return hash("sha256", made, "hex").slice(0, 16)
}

/**
 * Opens a data set: with all that a run before left in it where that was for the same code, else empty.
 *
 * @throws CannotWrite where another run uses it
 */
export async function openDataSet<T>(
  { name, form, empty }: DataSetOf<T>,
  { dataDir, report }: Pick<Setting, "dataDir" | "report">,
): Promise<DataSet<T>> {
  const folder = await openDataFolder(join(dataDir, name))
  const hold = await holdFolder(folder)
  if (hold === null) throw new CannotWrite(`The data set ${name} is used by another run.`)
  try {
    const version = versionOf(form)
    const databaseDir = join(folder.path, "database")
    const path = join(folder.path, "data-set.json")
    const note = async (there: T): Promise<void> => {
      const file = await openOutFile(path)
      try {
        await file.write(`${JSON.stringify({ version, there }, null, 2)}\n`)
        await file.keep()
      } finally {
        await file.discard()
      }
      found = there
    }
    const kept = await readNote<T>(path)
    let found = kept?.version === version ? kept.there : empty
    if (kept?.version !== version) {
      report(`${name}: ${kept === null ? "nothing is kept yet" : "kept for other code, made anew"}`)
      await rm(path, { force: true })
      await rm(databaseDir, { recursive: true, force: true, maxRetries: 10 })
      await note(empty)
    }
    return { databaseDir, there: () => found, note, release: hold.release }
  } catch (error) {
    await hold.release()
    throw error
  }
}

async function readNote<T>(path: string): Promise<Note<T> | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Note<T>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null
    throw error
  }
}
