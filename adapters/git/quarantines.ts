/** What was left by who was killed in the middle of it. */
import { readdir, rm, stat } from "node:fs/promises"
import { join } from "node:path"

/** No push takes so long, nor anything else. */
const LEFT_MS = 24 * 3_600_000

/** Whether a file guards the pack of a push while its refs move: until it is gone, the pack is never packed anew. */
export const isKeepFile = (name: string): boolean => /^pack-[0-9a-f]{40}\.keep$/.test(name)

/** Takes away what pushes left that ended long ago: quarantines, and files that guard a pack. */
export async function forgetLeft(folder: string): Promise<void> {
  await forget(join(folder, "objects"), (name) => name.startsWith("tmp_objdir-"))
  await forget(join(folder, "objects", "pack"), isKeepFile)
}

/** Takes away what lies in the folder of all repositories since long ago: quarantines, half-made ones. */
export async function sweepLeft(codeDir: string): Promise<void> {
  await forget(codeDir, (name) => /\.(erased|new-[0-9a-f-]+)$/.test(name))
  for (const name of await namesIn(codeDir)) {
    if (/^[0-9a-f]+$/.test(name)) await forgetLeft(join(codeDir, name))
  }
}

async function forget(folder: string, isLeft: (name: string) => boolean): Promise<void> {
  for (const name of (await namesIn(folder)).filter(isLeft)) {
    const path = join(folder, name)
    const since = await stat(path).catch(orGone)
    if (since === null || Date.now() - since.mtimeMs <= LEFT_MS) continue
    await rm(path, { recursive: true, force: true })
  }
}

/** The names in a folder; none where it is gone, as that of a repository that is erased meanwhile. */
export const namesIn = async (folder: string): Promise<readonly string[]> =>
  (await readdir(folder).catch(orGone)) ?? []

function orGone(error: unknown): null {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
  throw error
}
