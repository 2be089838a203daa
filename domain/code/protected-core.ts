/**
 * The law of the protected core: the folder `src/sealed` of a commit is one of an official release, or it
 * is not there and no parent had one. Every commit is judged, not the newest alone: any that can be
 * reached can be published.
 *
 * What counts is the tree that git names, not the files that a check-out writes: attributes change those.
 * Nothing else may lie over the folder where a file system folds names together.
 */

/** Something in a folder of a commit. */
interface CoreEntry {
  readonly name: string
  /** As git writes it: `40000` is a folder. */
  readonly mode: string
  readonly id: string
}

/** The protected core of a commit, or the folder that it is in. */
export type ProtectedCore =
  | { readonly kind: "absent" }
  | { readonly kind: "tree"; readonly id: string }
  /** Something stands where it must be that is none, or lies over it. */
  | { readonly kind: "fault"; readonly path: string; readonly reason: string }

const ABSENT: ProtectedCore = { kind: "absent" }

/** The folder `src` in what stands in a commit's root; null where that is empty. */
export function srcFolderOf(root: readonly CoreEntry[] | null): ProtectedCore {
  return onlyFolder(root ?? [], "src", "")
}

/** The protected core in what stands in a commit's folder `src`; null where there is none. */
export function protectedCoreOf(src: readonly CoreEntry[] | null): ProtectedCore {
  return onlyFolder(src ?? [], "sealed", "src/")
}

/** The folder of this name, and nothing beside it that is the same name to some file system. */
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

/** Git leaves the zero of a folder's mode out in a tree and writes it in listings. */
const isFolder = (mode: string): boolean => mode === "40000" || mode === "040000"

/** What HFS+ leaves out of names when it compares them. */
const IGNORED = /[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/g

/** Letters that no file system folds with others, but for their case. */
const PLAIN = /^[!-~]*$/

/**
 * Whether some file system takes one name for the other: letters without their case, composed, and
 * without what is left out. On Windows a backslash begins a file below, a colon a part of the same
 * file, and dots and spaces at the end are nothing.
 */
function isSameSomewhere(name: string, reserved: string): boolean {
  // Nearly all are told apart by this.
  if (PLAIN.test(name) && !name.toLowerCase().startsWith(reserved)) return false
  const [first = ""] = name.replaceAll(IGNORED, "").split(/[\\:]/, 1)
  const bare = first.replace(/[. ]+$/, "").normalize("NFC")
  // Upper case first: some letters, such as the long s, meet another's lower case only by it.
  return bare.toUpperCase().toLowerCase() === reserved
}

/** Why a commit may not have this core; null where it may. */
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
      return "src/sealed: it differs from every official release"
    case "absent":
      if (parents.every(({ kind }) => kind !== "tree")) return null
      return "src/sealed: it was taken out"
  }
}
