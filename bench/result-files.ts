/** The two files of a run: the document for programs and the page for people. */
import { mkdir } from "node:fs/promises"
import { dirname, isAbsolute, join, relative } from "node:path"
import type { OutFile } from "../src/frame/operator/cli/out-file.ts"
import { CannotWrite, openOutFile } from "../src/frame/operator/cli/out-file.ts"
import { renderPage } from "./page/page.ts"
import type { RunDocument } from "./run-document.ts"

/** Both files, before they are written. */
export interface ResultFiles {
  /** Writes both and returns their paths relative to the current folder. @throws CannotWrite */
  readonly write: (run: RunDocument) => Promise<readonly string[]>
  /** Removes the files if nothing was written. */
  readonly discard: () => Promise<void>
}

/**
 * Opens both files. The page is next to the document, with `.html` instead of `.json`.
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
 * Returns the path of a run's document in the folder of results, which is created if it is missing.
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

/** Makes a path relative if it is below the current folder. */
function displayPath(path: string): string {
  const short = relative(process.cwd(), path)
  return short.startsWith("..") || isAbsolute(short) ? path : short
}
