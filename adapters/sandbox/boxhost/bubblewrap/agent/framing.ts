/** Frames a message in front of bytes: its length in four bytes, then JSON, then the bytes. */
import type { Readable } from "node:stream"

const LENGTH_BYTES = 4

/** The stream ended within a message, or the message is too long. */
class Broken extends Error {
  override readonly name = "Broken"
}

/** Encodes a message with its length. */
export function encodeMessage(message: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(message))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(json.length)
  return Buffer.concat([length, json])
}

/** Reads a message and leaves the following bytes in the stream. @throws Broken */
export async function readMessage(stream: Readable, maxBytes: number): Promise<unknown> {
  const length = (await readExactly(stream, LENGTH_BYTES)).readUInt32BE()
  if (length > maxBytes) throw new Broken(`a message of ${length} bytes; the limit is ${maxBytes}`)
  return JSON.parse((await readExactly(stream, length)).toString("utf8"))
}

/** Reads exactly this many bytes. */
async function readExactly(stream: Readable, bytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (let left = bytes; left > 0;) {
    const chunk: unknown = stream.read(Math.min(left, stream.readableLength || left))
    if (Buffer.isBuffer(chunk)) {
      chunks.push(chunk)
      left -= chunk.length
    } else {
      if (stream.readableEnded || stream.destroyed) throw new Broken("a message broke off")
      await waitForData(stream)
    }
  }
  return Buffer.concat(chunks)
}

/** Resolves when more data can be read, or the stream has ended. */
function waitForData(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ["readable", "end", "close", "error"]) stream.off(event, done)
      resolve()
    }
    for (const event of ["readable", "end", "close", "error"]) stream.once(event, done)
  })
}
