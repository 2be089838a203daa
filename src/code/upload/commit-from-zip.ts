/** Turns a zip into a commit that has exactly its files. */
import type { ZippedFile } from "./zip-files.ts"
import { createHash } from "node:crypto"
import { Readable, pipeline } from "node:stream"
import { createDeflate, deflateSync } from "node:zlib"

/** A commit, ready to be imported. */
export interface ZippedCommit {
  readonly id: string
  /** Git id of the tree of all files. */
  readonly tree: string
  readonly bundle: () => AsyncIterable<Uint8Array>
}

interface CommitDetails {
  /** Full name, such as `refs/heads/main`. */
  readonly branch: string
  readonly parent: string | null
  readonly author: string
  /** UTC milliseconds. */
  readonly at: number
  readonly message: string
}

/** Creates the commit. It reads each file twice: for its id, and for its bytes. @throws BadZip */
export async function commitFromZip(
  files: readonly ZippedFile[],
  details: CommitDetails,
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
  const commit = commitOf({ ...details, tree })
  for (const one of [...trees, commit]) objects.set(one.id, one)
  const bundle = () => bundleOf(details.branch, commit.id, details.parent, [...objects.values()])
  return { id: commit.id, tree, bundle }
}

/** Larger objects are compressed while they are read. */
const BUFFERED_BYTES = 1024 * 1024
const TYPES = { commit: 1, tree: 2, blob: 3 } as const

/**
 * A bundle that points a branch to a commit.
 *
 * @param branch full name, such as `refs/heads/main`
 * @param parent the commit that the receiver must have; null for none
 * @param objects all new objects, each once
 */
async function* bundleOf(
  branch: string,
  commit: string,
  parent: string | null,
  objects: readonly PackedObject[],
): AsyncGenerator<Uint8Array> {
  const before = parent === null ? "" : `-${parent}\n`
  yield Buffer.from(`# v2 git bundle\n${before}${commit} ${branch}\n\n`)
  const hash = createHash("sha1")
  for await (const piece of packOf(objects)) {
    hash.update(piece)
    yield piece
  }
  yield hash.digest()
}

async function* packOf(objects: readonly PackedObject[]): AsyncGenerator<Uint8Array> {
  const head = Buffer.alloc(12)
  head.write("PACK")
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(objects.length, 8)
  yield head
  for (const object of objects) {
    yield headOf(object)
    yield* deflateObject(object)
  }
}

/** Encodes type and size: seven bits per byte, except four in the first, which has the type. */
function headOf({ type, size }: PackedObject): Buffer {
  const bytes = [(TYPES[type] << 4) | (size & 0x0f)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

async function* deflateObject({ size, read }: PackedObject): AsyncGenerator<Uint8Array> {
  if (size <= BUFFERED_BYTES) {
    const pieces: Uint8Array[] = []
    for await (const piece of read()) pieces.push(piece)
    yield deflateSync(Buffer.concat(pieces))
    return
  }
  // The reader of the compressed bytes gets errors of the source.
  const deflated = pipeline(Readable.from(read()), createDeflate(), () => undefined)
  yield* deflated as AsyncIterable<Buffer>
}

interface PackedObject {
  readonly id: string
  readonly type: "commit" | "tree" | "blob"
  /** Bytes. */
  readonly size: number
  readonly read: () => AsyncIterable<Uint8Array>
}

/** A file in a tree: its path from the top, and the id of its bytes. */
interface TreeFile {
  readonly path: string
  readonly isExecutable: boolean
  readonly id: string
}

async function objectId(
  type: PackedObject["type"],
  size: number,
  bytes: AsyncIterable<Uint8Array>,
): Promise<string> {
  const hash = createHash("sha1").update(`${type} ${size}\0`)
  for await (const piece of bytes) hash.update(piece)
  return hash.digest("hex")
}

/** An object held in memory. */
function bufferedObject(type: PackedObject["type"], bytes: Buffer): PackedObject {
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

/** The trees of these files, the top one last. @throws RangeError if a file's path is below another file */
function treesOf(files: readonly TreeFile[]): readonly PackedObject[] {
  const top: Folder = new Map()
  for (const file of files) {
    const parts = file.path.split("/")
    const name = parts.pop() ?? ""
    let folder = top
    for (const part of parts) {
      const below = folder.get(part) ?? new Map()
      if (!(below instanceof Map)) throw new RangeError(`${file.path} is below another file`)
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
  const tree = bufferedObject("tree", Buffer.concat(lines))
  trees.push(tree)
  return tree.id
}

interface CommitParts {
  readonly tree: string
  /** Null for the first one. */
  readonly parent: string | null
  readonly author: string
  /** UTC milliseconds. */
  readonly at: number
  readonly message: string
}

function commitOf({ tree, parent, author, at, message }: CommitParts): PackedObject {
  // These characters would end the name or the line.
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
  return bufferedObject("commit", Buffer.from(lines.join("\n")))
}
