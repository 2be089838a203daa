/**
 * The rule of the protected core: the folder `src/sealed` of a commit equals that of an official release, or
 * neither the commit nor its parents have one. Every commit is checked and not only the newest, because any
 * reachable commit can be published.
 *
 * The rule applies to git's tree and not to checked-out files, because git attributes can change those. No other
 * entry may replace the folder on a file system that folds names.
 */

interface CoreEntry {
  readonly name: string
  /** As git writes it: `40000` is a folder. */
  readonly mode: string
  readonly id: string
}

/** The protected core of a commit, or the folder `src` that contains it. */
export type ProtectedCore =
  | { readonly kind: "absent" }
  | { readonly kind: "tree"; readonly id: string }
  /** An entry that must be a folder is not one, or another entry collides with it. */
  | { readonly kind: "fault"; readonly path: string; readonly reason: string }

const ABSENT: ProtectedCore = { kind: "absent" }

/** Finds the folder `src` in a commit's root; null for an empty root. */
export function srcFolderOf(root: readonly CoreEntry[] | null): ProtectedCore {
  return onlyFolder(root ?? [], "src", "")
}

/** Finds the protected core in a commit's folder `src`; null if there is none. */
export function protectedCoreOf(src: readonly CoreEntry[] | null): ProtectedCore {
  return onlyFolder(src ?? [], "sealed", "src/")
}

/** Finds a folder by name and rejects entries that some file system would mistake for it. */
function onlyFolder(entries: readonly CoreEntry[], name: string, path: string): ProtectedCore {
  let found: ProtectedCore = ABSENT
  for (const entry of entries) {
    if (entry.name !== name) {
      if (!isSameSomewhere(entry.name, name)) continue
      const reason = `it is the same as ${path}${name} on some computers`
      return { kind: "fault", path: path + entry.name, reason }
    }
    if (!isFolder(entry.mode))
      return { kind: "fault", path: path + name, reason: "it must be a folder" }
    found = { kind: "tree", id: entry.id }
  }
  return found
}

/** Git omits the leading zero in trees and writes it in listings. */
const isFolder = (mode: string): boolean => mode === "40000" || mode === "040000"

/** HFS+ ignores these characters when it compares names. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g

/** Characters that no file system folds, except for case. */
const PLAIN = /^[!-~]*$/

/**
 * Whether some file system treats both names as equal, after case folding, composition and removal of ignored
 * characters. On Windows, a backslash starts a file below, a colon starts a stream of the same file, and trailing
 * dots and spaces are ignored.
 */
function isSameSomewhere(name: string, reserved: string): boolean {
  // Fast path for nearly all names.
  if (PLAIN.test(name) && !name.toLowerCase().startsWith(reserved)) return false
  const [first = ""] = name.replaceAll(IGNORED, "").split(/[\\:]/, 1)
  const bare = first.replace(/[. ]+$/, "").normalize("NFC")
  // Upper case first: some letters, such as the long s, only then map to another's lower case.
  return bare.toUpperCase().toLowerCase() === reserved
}

/** Explains why a commit may not have this core; null if it may. */
export function protectedCoreFault(
  core: ProtectedCore,
  parents: readonly ProtectedCore[],
  official: ReadonlySet<string>,
): string | null {
  switch (core.kind) {
    case "fault":
      return `${core.path}: ${core.reason}`
    case "tree":
      if (official.has(core.id)) return null
      return "src/sealed: it differs from every official release; restore the folder of a release"
    case "absent":
      if (parents.every(({ kind }) => kind !== "tree")) return null
      return "src/sealed: it was removed; restore the folder of a release"
  }
}
