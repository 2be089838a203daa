/** Objects of git as bytes: what they are named by, and how folders and commits are written. */
import { createHash } from "node:crypto"

/** An object that is to be packed. */
export interface PackedObject {
  readonly id: string
  readonly type: "commit" | "tree" | "blob"
  /** Bytes. */
  readonly size: number
  readonly read: () => AsyncIterable<Uint8Array>
}

/** A file as a folder names it: by its path from the top, with the id of its bytes. */
export interface TreeFile {
  readonly path: string
  readonly isExecutable: boolean
  readonly id: string
}

/** The id of an object of these bytes. */
export async function objectId(
  type: PackedObject["type"],
  size: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<string> {
  const hash = createHash("sha1").update(`${type} ${size}\0`)
  for await (const piece of bytes) hash.update(piece)
  return hash.digest("hex")
}

/** An object that is held whole. */
function heldObject(type: PackedObject["type"], bytes: Buffer): PackedObject {
  const hash = createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes)
  return {
    id: hash.digest("hex"),
    type,
    size: bytes.length,
    read: async function* () {
      yield bytes
    },
  }
}

type Folder = Map<string, TreeFile | Folder>

/** The folders that hold these files, the top one last. @throws RangeError where one lies in another */
export function treesOf(files: readonly TreeFile[]): readonly PackedObject[] {
  const top: Folder = new Map()
  for (const file of files) {
    const parts = file.path.split("/")
    const name = parts.pop() ?? ""
    let folder = top
    for (const part of parts) {
      const below = folder.get(part) ?? new Map()
      if (!(below instanceof Map)) throw new RangeError(`${file.path} lies in a file`)
      folder.set(part, below)
      folder = below
    }
    folder.set(name, file)
  }
  const trees: PackedObject[] = []
  writeTree(top, trees)
  return trees
}

function writeTree(folder: Folder, trees: PackedObject[]): string {
  const entries = [...folder].map(([name, what]) => {
    if (what instanceof Map) {
      // Git sorts folders as if their names ended in a slash.
      return { name, mode: "40000", id: writeTree(what, trees), key: Buffer.from(`${name}/`) }
    }
    const mode = what.isExecutable ? "100755" : "100644"
    return { name, mode, id: what.id, key: Buffer.from(name) }
  })
  const lines = entries
    .toSorted((a, b) => Buffer.compare(a.key, b.key))
    .flatMap(({ mode, name, id }) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(id, "hex")])
  const tree = heldObject("tree", Buffer.concat(lines))
  trees.push(tree)
  return tree.id
}

/** A commit. */
export interface CommitParts {
  readonly tree: string
  /** Null for the first one. */
  readonly parent: string | null
  readonly author: string
  /** UTC milliseconds. */
  readonly at: number
  readonly message: string
}

/** A commit as git writes it. */
export function commitOf({ tree, parent, author, at, message }: CommitParts): PackedObject {
  // What would end a name or a line there.
  const name = author.replaceAll(/[<>\p{Cc}]/gu, " ").trim() || "operator"
  const who = `${name} <operator@localhost> ${Math.floor(at / 1_000)} +0000`
  const lines = [
    `tree ${tree}`,
    ...(parent === null ? [] : [`parent ${parent}`]),
    `author ${who}`,
    `committer ${who}`,
    "",
    `${message.replaceAll("\0", "").trim()}\n`,
  ]
  return heldObject("commit", Buffer.from(lines.join("\n")))
}
