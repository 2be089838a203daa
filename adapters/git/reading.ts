/** What stands in a repository: refs, files, what is reachable. */
import { typeOf } from "./new-objects.ts"
import type { Entry, Head, Tip } from "./port.ts"
import type { Machine } from "./process.ts"
import { outputOf } from "./process.ts"

/** A repository that is read. */
export interface Read {
  readonly machine: Machine
  readonly folder: string
}

const REFS = ["refs/heads", "refs/tags"]

/** Its branches and tags. */
export async function tipsOf({ machine, folder }: Read): Promise<readonly Tip[]> {
  const args = ["for-each-ref", "--format=%(objectname) %(refname)", ...REFS]
  const text = (await outputOf(machine, { folder, args })).toString("utf8")
  return linesIn(text).map((line) => ({ id: line.slice(0, 40), ref: line.slice(41) }))
}

const linesIn = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "")

/** Where its `HEAD` points. */
export async function headOf({ machine, folder }: Read): Promise<Head> {
  // The star marks the branch that `HEAD` points to, where that is there.
  const args = ["for-each-ref", "--format=%(HEAD)%(refname)", "refs/heads"]
  const text = (await outputOf(machine, { folder, args })).toString("utf8")
  const born = linesIn(text).find((line) => line.startsWith("*"))
  if (born !== undefined) return { ref: born.slice(1), isBorn: true }
  const unborn = await outputOf(machine, { folder, args: ["symbolic-ref", "HEAD"] })
  return { ref: unborn.toString("utf8").trim(), isBorn: false }
}

/** Points its `HEAD` to a branch. */
export async function setHead({ machine, folder }: Read, ref: string): Promise<void> {
  await outputOf(machine, { folder, args: ["symbolic-ref", "HEAD", ref], writes: true })
}

/** Whether it has a branch or a tag. */
export async function hasRefs({ machine, folder }: Read): Promise<boolean> {
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", ...REFS]
  return (await outputOf(machine, { folder, args })).length > 0
}

/** Whether a branch or a tag reaches a commit. */
export async function reachedBy({ machine, folder }: Read, commit: string): Promise<boolean> {
  if (!/^[0-9a-f]{40}$/.test(commit)) return false
  if ((await typeOf(machine, folder, commit)) !== "commit") return false
  const args = ["for-each-ref", "--count=1", "--format=%(refname)", "--contains", commit, ...REFS]
  return (await outputOf(machine, { folder, args })).length > 0
}

/** What stands at a path of a commit; null where nothing does, or more than so many bytes. */
export async function fileAt(
  { machine, folder }: Read,
  commit: string,
  path: string,
  mostBytes: number,
): Promise<(Entry & { readonly bytes: Uint8Array }) | null> {
  if (!/^[0-9a-f]{40}$/.test(commit) || path.includes("\0")) return null
  // Git would make another path of it.
  if (path.split("/").some((part) => part === "" || part === "." || part === "..")) return null
  if ((await typeOf(machine, folder, commit)) !== "commit") return null
  const env = { GIT_LITERAL_PATHSPECS: "1" }
  const args = ["ls-tree", "-z", "--long", "--full-tree", commit, "--", path]
  const row = (await outputOf(machine, { folder, args, env })).toString("utf8").split("\0", 1)[0]
  const [, mode, type, id, size] = /^(\d+) (\w+) ([0-9a-f]{40}) +(\d+|-)\t/.exec(row ?? "") ?? []
  if (mode === undefined || id === undefined) return null
  // As git stores it: a folder's begins with a zero here.
  const entry = { mode: mode.replace(/^0/, ""), id }
  if (type !== "blob") return { ...entry, bytes: new Uint8Array() }
  if (Number(size) > mostBytes) return null
  return { ...entry, bytes: await outputOf(machine, { folder, args: ["cat-file", "blob", id] }) }
}
