/** Which refs a push may move: rules over names and numbers alone. */

/** The default branch of a new repository, until the first push brings another. */
export const DEFAULT_BRANCH = "refs/heads/main"

const BRANCHES = "refs/heads/"

/** Usual names of a default branch, the most usual first. */
const USUAL_NAMES = [DEFAULT_BRANCH, "refs/heads/master", "refs/heads/trunk"]

/** The branch of these refs that becomes the default: one with a usual name, else the first; null without any. */
export function chooseDefaultBranch(refs: readonly string[]): string | null {
  const branches = refs.filter((ref) => ref.startsWith(BRANCHES))
  return USUAL_NAMES.find((name) => branches.includes(name)) ?? branches[0] ?? null
}

/** So many refs one push may move. */
const MAX_UPDATES_PER_PUSH = 200
/** So many refs a repository may have. */
export const MAX_REFS = 5_000
/** A longer name is refused late by file systems, in words that help nobody. */
const MAX_REF_BYTES = 200

/** A ref as a push wants it; null where it is made, or taken away. */
interface WantedRef {
  readonly ref: string
  readonly old: string | null
  readonly new: string | null
}

/** What is wrong with a ref, for the person who pushes. */
export interface RefFault {
  /** Null where it is about all of them. */
  readonly ref: string | null
  /** A sentence. */
  readonly message: string
}

/** What is wrong with the names and the number of what a push moves; none where nothing is. */
export function refFaults(updates: readonly WantedRef[]): readonly RefFault[] {
  if (updates.length > MAX_UPDATES_PER_PUSH) {
    const message = `A push moves at most ${MAX_UPDATES_PER_PUSH} refs; this one moves ${updates.length}. Push them in parts.`
    return [{ ref: null, message }]
  }
  return updates.flatMap(({ ref }) => {
    const message = nameFault(ref)
    return message === null ? [] : [{ ref, message }]
  })
}

/** Whether a push deletes the default branch. */
export function deletesDefaultBranch(
  updates: readonly WantedRef[],
  defaultBranch: string,
): boolean {
  return updates.some((one) => one.ref === defaultBranch && one.new === null)
}

/** What is wrong with a branch's name; null where nothing is. */
export function branchFault(name: string): string | null {
  return nameFault(`refs/heads/${name}`)
}

const REF_NAME = /^refs\/(?:heads|tags)\/(.+)$/s
// It is what must not stand in a name.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
/** What git takes for no name, and says so only when all else is done: as `git check-ref-format` has it. */
const INVALID_NAME = /\.\.|@\{|[ ~^:?*[\\]|(?:^|\/)\.|\.lock(?:\/|$)|\/\/|^\/|[./]$/

/** What is wrong with a ref's name; null where nothing is. */
function nameFault(ref: string): string | null {
  const name = REF_NAME.exec(ref)?.[1]
  if (name === undefined) return "Only branches (refs/heads/) and tags (refs/tags/) can be pushed."
  // Every command of git would take it for the branch that is checked out.
  if (ref.startsWith("refs/heads/") && name.toUpperCase() === "HEAD") {
    return "A branch cannot be named HEAD."
  }
  if (name.startsWith("-")) return "A name cannot begin with a dash."
  if (CONTROL.test(name)) return "A name cannot hold control characters."
  // Git names refs by bytes; two that are no UTF-8 would have one name here.
  if (name.includes("\ufffd")) return "A name must be UTF-8."
  if (INVALID_NAME.test(name)) return "Git takes this for no name: see git check-ref-format."
  if (utf8Length(ref) > MAX_REF_BYTES) return `A name has at most ${MAX_REF_BYTES} bytes.`
  return null
}

/** Where a push moves the default branch from and to; null where it makes it, or leaves it alone. */
export function defaultBranchMove(
  updates: readonly WantedRef[],
  defaultBranch: string,
): { readonly old: string; readonly new: string } | null {
  const found = updates.find(({ ref }) => ref === defaultBranch)
  if (found === undefined || found.old === null || found.new === null) return null
  return { old: found.old, new: found.new }
}

function utf8Length(text: string): number {
  let bytes = 0
  for (const one of text) {
    const point = one.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}
