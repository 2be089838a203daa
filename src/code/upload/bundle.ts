/** A bundle of git with one new commit: what `git bundle` writes, without a repository to write it from. */
import { createHash } from "node:crypto"
import { Readable, pipeline } from "node:stream"
import { createDeflate, deflateSync } from "node:zlib"
import type { PackedObject } from "./objects.ts"

/** Larger ones are packed as they are read. */
const HELD_BYTES = 1024 * 1024
const TYPES = { commit: 1, tree: 2, blob: 3 } as const

/**
 * A bundle that has a branch point to a commit.
 *
 * @param branch as `refs/heads/main`
 * @param parent the commit that must be there before; null where there is none
 * @param objects all that is new, each once
 */
export async function* bundleOf(
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
    yield* packed(object)
  }
}

/** The type and the size of an object: seven bits a byte, the first has four and the type. */
function headOf({ type, size }: PackedObject): Buffer {
  const bytes = [(TYPES[type] << 4) | (size & 0x0f)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}

async function* packed({ size, read }: PackedObject): AsyncGenerator<Uint8Array> {
  if (size <= HELD_BYTES) {
    const pieces: Uint8Array[] = []
    for await (const piece of read()) pieces.push(piece)
    yield deflateSync(Buffer.concat(pieces))
    return
  }
  // What goes wrong with its bytes is thrown to whoever reads the packed ones.
  const deflated = pipeline(Readable.from(read()), createDeflate(), () => undefined)
  yield* deflated as AsyncIterable<Buffer>
}
