/** The two files of a run: the document for programs, and the page for people. */
import { mkdir } from "node:fs/promises"
import { dirname, isAbsolute, join, relative } from "node:path"
import type { OutFile } from "../src/frame/operator/cli/out-file.ts"
import { CannotWrite, openOutFile } from "../src/frame/operator/cli/out-file.ts"
import { renderPage } from "./page/page.ts"
import type { RunDocument } from "./run-document.ts"

/** Both files, not there yet. */
export interface ResultFiles {
  /** Writes both; answers their paths as they are read from here. @throws CannotWrite */
  readonly write: (run: RunDocument) => Promise<readonly string[]>
  /** Leaves nothing behind of what was not kept. */
  readonly discard: () => Promise<void>
}

/**
 * Begins both files. The page stands beside the document, with `.html` in place of `.json`.
 *
 * @throws CannotWrite
 */
export async function openResultFiles(json: string): Promise<ResultFiles> {
  const page = `${json.replace(/\.json$/u, "")}.html`
  const files: OutFile[] = []
  const discard = async (): Promise<void> => {
    for (const file of files) await file.discard()
  }
  try {
    for (const path of [json, page]) files.push(await openOutFile(path))
  } catch (error) {
    await discard()
    throw error
  }
  return {
    write: async (run) => {
      const texts = [`${JSON.stringify(run, null, 2)}\n`, renderPage(run)]
      for (const [i, file] of files.entries()) await file.write(texts[i] ?? "")
      for (const file of files) await file.commit()
      return [json, page].map(displayPath)
    },
    discard,
  }
}

/**
 * The path of a run's document in the folder of results, which is made where it is missing.
 *
 * @throws CannotWrite
 */
export async function resultPath(folder: string, what: string): Promise<string> {
  const path = join(folder, `${new Date().toISOString().replaceAll(/[:.]/gu, "-")}-${what}.json`)
  try {
    await mkdir(dirname(path), { recursive: true })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new CannotWrite(`The folder ${folder} cannot be made: ${reason}.`, { cause: error })
  }
  return path
}

/** A path below the current folder is told from there. */
function displayPath(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith("..") || isAbsolute(short) ? path : short
}
