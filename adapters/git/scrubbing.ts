/** Taking an object out of a repository for good, with all else that no branch or tag reaches. */
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { linesOf, typeOf } from "./new-objects.ts"
import type { Scrubbed } from "./port.ts"
import { GitFailed } from "./port.ts"
import { outputOf } from "./process.ts"
import { isKeepFile, namesIn } from "./quarantines.ts"
import type { Read } from "./reading.ts"

/**
 * Takes a file's content, a folder, a commit or a tag out. Nobody may push meanwhile. @throws GitFailed
 *
 * What waits in a quarantine stays, which `git gc --prune=now` would take away under a push's feet.
 */
export async function scrub({ machine, folder }: Read, object: string): Promise<Scrubbed> {
  if ((await typeOf(machine, folder, object)) === null) return { is: "missing" }
  const listing = { folder, args: ["rev-list", "--objects", "--all"] }
  for await (const line of linesOf(machine, listing)) {
    if (line.startsWith(object)) return { is: "reached", path: line.slice(object.length + 1) }
  }
  const objects = join(folder, "objects")
  // Git leaves packs beside such a file as they are: it guards a push whose refs are about to move, and
  // there is none now. So this one was left by who was killed.
  for (const name of (await namesIn(join(objects, "pack"))).filter(isKeepFile)) {
    await rm(join(objects, "pack", name), { force: true })
  }
  const packing = ["repack", "-a", "-d", "-q"]
  await outputOf(machine, { folder, args: packing, writes: true })
  // All that is reached is packed by now: what lies alone beside packs is what `git gc` put there.
  for (const name of (await namesIn(objects)).filter((one) => /^[0-9a-f]{2}$/.test(one))) {
    await rm(join(objects, name), { recursive: true, force: true })
  }
  if ((await typeOf(machine, folder, object)) !== null) {
    throw new GitFailed(`${object} is in the repository still`)
  }
  return { is: "gone" }
}
