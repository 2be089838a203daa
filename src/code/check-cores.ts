/** The protected core of every commit that a push makes reachable, by the law of it. */
import type { Push } from "../../adapters/git/port.ts"
import type { Core } from "../../domain/code/sealed-core.ts"
import { coreFault, coreIn, srcIn } from "../../domain/code/sealed-core.ts"
import type { RefusedPush } from "./refused-push.ts"
import { MOST_PLACES } from "./refused-push.ts"

/** Answers the cores of commits; those that have none may be left out. */
export type ReadCores = (commits: Iterable<string>) => Promise<ReadonlyMap<string, Core>>

/** Why the core of some commit refuses a push; null where it is as it must be in all of them. */
export async function coresRefused(
  push: Push,
  readCores: ReadCores,
  official: ReadonlySet<string>,
): Promise<RefusedPush | null> {
  const parentsOf = new Map<string, readonly string[]>()
  for await (const { id, parents } of push.commits()) parentsOf.set(id, parents)
  const cores = await readCores([...parentsOf].flat(2))
  const places: string[] = []
  for (const [id, parents] of parentsOf) {
    const fault = coreFault(
      cores.get(id) ?? ABSENT,
      parents.map((one) => cores.get(one) ?? ABSENT),
      official,
    )
    if (fault !== null) places.push(`commit ${id.slice(0, 12)}: ${fault}`)
    if (places.length > MOST_PLACES) break
  }
  if (places.length === 0) return null
  return {
    code: "protected_core",
    why: "The protected core (src/sealed) must be as an official release has it, so nothing of this push was taken:",
    places,
    next: "Restore src/sealed in each of these commits (git rebase -i), and push again.",
  }
}

/** The tree of the protected core of one commit; null where it has none. */
export async function coreTreeOf(readCores: ReadCores, commit: string): Promise<string | null> {
  const core = (await readCores([commit])).get(commit)
  return core?.is === "tree" ? core.id : null
}

const ABSENT: Core = { is: "absent" }

/** Reads the cores of a push's commits, each once: every look is a process of git. */
export function coresOf(push: Push): ReadCores {
  const cores = new Map<string, Core>()
  return async (commits) => {
    const missing = [...new Set(commits)].filter((commit) => !cores.has(commit))
    if (missing.length === 0) return cores
    const inside: string[] = []
    for await (const { commits: some, entries } of push.folders(missing, "")) {
      const src = srcIn(entries)
      for (const commit of some) {
        if (src.is === "tree") inside.push(commit)
        else cores.set(commit, src)
      }
    }
    if (inside.length === 0) return cores
    for await (const { commits: some, entries } of push.folders(inside, "src")) {
      const core = coreIn(entries)
      for (const commit of some) cores.set(commit, core)
    }
    return cores
  }
}
