/**
 * Data sets that take long to write and stay from run to run: a folder with a database, and a note of its contents. The
 * note names the version of the code; data of another version are written again.
 */
import { PROGRAM } from "../../src/slices.ts"
import { hash } from "node:crypto"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { lockFolder, openDataFolder } from "../../adapters/machine/data-folder/data-folder.ts"
import { MIGRATIONS } from "../../adapters/postgres/migrate.ts"
import { CannotWrite, openOutFile } from "../../src/frame/operator/cli/out-file.ts"
import type { BenchmarkContext } from "../benchmark.ts"

export interface DataSet<T> {
  /** The folder of its database. */
  readonly databaseDir: string
  /** The noted contents. */
  readonly contents: () => T
  /** Notes contents atomically, also if the machine stops meanwhile. */
  readonly save: (there: T) => Promise<void>
  /** Releases the data set for other runs; its data stay. */
  readonly release: () => Promise<void>
}

export interface DataSetSpec<T> {
  readonly name: string
  /** Raised whenever the written data change. */
  readonly formatVersion: number
  /** The contents of a new data set. */
  readonly empty: T
}

interface SavedContents<T> {
  readonly version: string
  readonly there: T
}

/** Data with another version belong to another program. */
function versionOf(form: number): string {
  const models = PROGRAM.readModels.map(({ name, version, create }) => [name, version, create])
  const made = JSON.stringify([form, Object.keys(MIGRATIONS), models, process.versions.modules])
  return hash("sha256", made, "hex").slice(0, 16)
}

/**
 * Opens a data set with the data of an earlier run of the same code, otherwise empty.
 *
 * @throws CannotWrite if another run uses it
 */
export async function openDataSet<T>(
  { name, formatVersion, empty }: DataSetSpec<T>,
  { dataDir, report }: Pick<BenchmarkContext, "dataDir" | "report">,
): Promise<DataSet<T>> {
  const folder = await openDataFolder(join(dataDir, name))
  const hold = await lockFolder(folder)
  if (hold === null) throw new CannotWrite(`The data set ${name} is used by another run.`)
  try {
    const version = versionOf(formatVersion)
    const databaseDir = join(folder.path, "database")
    const path = join(folder.path, "data-set.json")
    const save = async (there: T): Promise<void> => {
      const file = await openOutFile(path)
      try {
        await file.write(`${JSON.stringify({ version, there }, null, 2)}\n`)
        await file.commit()
      } finally {
        await file.discard()
      }
      found = there
    }
    const kept = await readNote<T>(path)
    let found = kept?.version === version ? kept.there : empty
    if (kept?.version !== version) {
      report(
        `${name}: ${kept === null ? "no data yet" : "written by another version, created again"}`,
      )
      await rm(path, { force: true })
      await rm(databaseDir, { recursive: true, force: true, maxRetries: 10 })
      await save(empty)
    }
    return { databaseDir, contents: () => found, save, release: hold.release }
  } catch (error) {
    await hold.release()
    throw error
  }
}

async function readNote<T>(path: string): Promise<SavedContents<T> | null> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as SavedContents<T>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null
    throw error
  }
}
