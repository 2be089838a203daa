/** A zip as one commit: its files are all that the commit has. */
import type { PackedObject, TreeFile } from "./objects.ts"
import { commitOf, objectId, treesOf } from "./objects.ts"
import { bundleOf } from "./bundle.ts"
import type { ZippedFile } from "./zip-files.ts"

/** A commit that is ready to be taken in. */
export interface ZippedCommit {
  readonly id: string
  /** Of all its files, as git names it. */
  readonly tree: string
  readonly bundle: () => AsyncIterable<Uint8Array>
}

/** Whose commit it is, and what it says. */
export interface CommitWords {
  /** The branch it is for: `refs/heads/main`. */
  readonly branch: string
  readonly parent: string | null
  readonly author: string
  /** UTC milliseconds. */
  readonly at: number
  readonly message: string
}

/** Makes the commit. Every file is read twice: for its name, and for its bytes. @throws BadZip */
export async function commitOfZip(
  files: readonly ZippedFile[],
  words: CommitWords,
): Promise<ZippedCommit> {
  const objects = new Map<string, PackedObject>()
  const named: TreeFile[] = []
  for (const { path, isExecutable, size, read } of files) {
    const id = await objectId("blob", size, read())
    named.push({ path, isExecutable, id })
    objects.set(id, { id, type: "blob", size, read })
  }
  const trees = treesOf(named)
  const tree = trees.at(-1)?.id ?? ""
  const commit = commitOf({ ...words, tree })
  for (const one of [...trees, commit]) objects.set(one.id, one)
  const bundle = () => bundleOf(words.branch, commit.id, words.parent, [...objects.values()])
  return { id: commit.id, tree, bundle }
}
