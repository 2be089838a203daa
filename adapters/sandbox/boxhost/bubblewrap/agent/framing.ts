/** A message in front of bytes: how long it is, four bytes, then JSON, then the bytes. */
import type { Readable } from "node:stream"

const LENGTH_BYTES = 4

/** A stream broke off within a message, or its message is longer than any may be. */
class Broken extends Error {
  override readonly name = "Broken"
}

/** The front of a message. */
export function encodeMessage(message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json])
}

/** Reads a message and leaves what follows it in the stream. @throws Broken */
export async function readMessage(stream: Readable, mostBytes: number): Promise<unknown> {
  const length = (await readExactly(stream, LENGTH_BYTES)).readUInt32BE()
  if (length > mostBytes) throw new Broken(`a message of ${length} bytes`)
  return JSON.parse((await readExactly(stream, length)).toString("utf8"))
}

/** Takes so many bytes, waiting for them, and not one more. */
async function readExactly(stream: Readable, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  for (let left = bytes; left > 0;) {
    const piece: unknown = stream.read(Math.min(left, stream.readableLength || left))
    if (Buffer.isBuffer(piece)) {
      pieces.push(piece)
      left -= piece.length
    } else {
      if (stream.readableEnded || stream.destroyed) throw new Broken("a message broke off")
      await waitForData(stream)
    }
  }
  return Buffer.concat(pieces)
}

/** Resolves when there is more to read, or never will be. */
function waitForData(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ["readable", "end", "close", "error"]) stream.off(event, done)
      resolve()
    }
    for (const event of ["readable", "end", "close", "error"]) stream.once(event, done)
  })
}
