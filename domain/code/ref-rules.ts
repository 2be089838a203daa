/** Rules for the refs that a push may move, by names and counts only. */

/** The default branch of a new repository, until the first push creates another. */
export const DEFAULT_BRANCH = "refs/heads/main"

const BRANCHES = "refs/heads/"

const USUAL_NAMES = [DEFAULT_BRANCH, "refs/heads/master", "refs/heads/trunk"]

/** Chooses the default branch: one with a usual name, otherwise the first; null without branches. */
export function chooseDefaultBranch(refs: readonly string[]): string | null {
  const branches = refs.filter((ref) => ref.startsWith(BRANCHES))
  return USUAL_NAMES.find((name) => branches.includes(name)) ?? branches[0] ?? null
}

const MAX_UPDATES_PER_PUSH = 200
/** Maximum number of refs of a repository. */
export const MAX_REFS = 5_000
/** File systems reject longer names late and with unhelpful messages. */
const MAX_REF_BYTES = 200

/** A requested change of a ref; null for its creation or deletion. */
interface RequestedUpdate {
  readonly ref: string
  readonly old: string | null
  readonly new: string | null
}

/** What is wrong with a ref, for the pusher. */
export interface RefFault {
  /** Null if it concerns the whole push. */
  readonly ref: string | null
  readonly message: string
}

/** Checks the names and the number of refs of a push; returns an empty list if they are valid. */
export function refFaults(updates: readonly RequestedUpdate[]): readonly RefFault[] {
  if (updates.length > MAX_UPDATES_PER_PUSH) {
    const message = `This push moves ${updates.length} refs; the limit is ${MAX_UPDATES_PER_PUSH}.`
    return [{ ref: null, message }]
  }
  return updates.flatMap(({ ref }) => {
    const message = nameFault(ref)
    return message === null ? [] : [{ ref, message }]
  })
}

/** Whether a push deletes the default branch. */
export function deletesDefaultBranch(
  updates: readonly RequestedUpdate[],
  defaultBranch: string,
): boolean {
  return updates.some((one) => one.ref === defaultBranch && one.new === null)
}

/** Checks a branch name; null if it is valid. */
export function branchFault(name: string): string | null {
  return nameFault(`refs/heads/${name}`)
}

const REF_NAME = /^refs\/(?:heads|tags)\/(.+)$/s
// Control characters are what the name must not contain.
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
/** The rules of `git check-ref-format`, which git would only apply after everything else. */
const INVALID_NAME = /\.\.|@\{|[ ~^:?*[\\]|(?:^|\/)\.|\.lock(?:\/|$)|\/\/|^\/|[./]$/

function nameFault(ref: string): string | null {
  const name = REF_NAME.exec(ref)?.[1]
  if (name === undefined) return "Only branches (refs/heads/) and tags (refs/tags/) can be pushed."
  // Git commands would treat it as the branch that is checked out.
  if (ref.startsWith("refs/heads/") && name.toUpperCase() === "HEAD") {
    return "A branch cannot be named HEAD."
  }
  if (name.startsWith("-")) return "A name cannot start with a dash."
  if (CONTROL.test(name)) return "A name cannot contain control characters."
  // Git compares names by bytes; two names that are not UTF-8 would be equal here.
  if (name.includes("\ufffd")) return "A name must be UTF-8."
  if (INVALID_NAME.test(name)) return "Git does not accept this name; see git check-ref-format."
  if (utf8Length(ref) > MAX_REF_BYTES)
    return `The name is longer than ${MAX_REF_BYTES} bytes, the limit.`
  return null
}

/**
 * Returns the ids between which a push moves the default branch; null if it creates the branch or does not move it.
 */
export function defaultBranchMove(
  updates: readonly RequestedUpdate[],
  defaultBranch: string,
): { readonly old: string; readonly new: string } | null {
  const found = updates.find(({ ref }) => ref === defaultBranch)
  if (found === undefined || found.old === null || found.new === null) return null
  return { old: found.old, new: found.new }
}

function utf8Length(text: string): number {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}
