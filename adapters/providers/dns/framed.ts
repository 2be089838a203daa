/** Packets on a connection: each has its length before it (RFC 1035 §4.2.2). */
const LENGTH_BYTES = 2

/** The packets that come, in their order. */
export async function* packetsIn(connection: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let come = Buffer.alloc(0)
  // One piece after the other: who sends faster than it is read waits.
  for await (const piece of connection) {
    come = Buffer.concat([come, piece])
    for (let packet = firstOf(come); packet !== null; packet = firstOf(come)) {
      come = come.subarray(LENGTH_BYTES + packet.length)
      yield packet
    }
  }
}

/** The first whole packet of what came; null where it is not all there yet. */
function firstOf(come: Buffer): Buffer | null {
  if (come.length < LENGTH_BYTES) return null
  const end = LENGTH_BYTES + come.readUInt16BE(0)
  return come.length < end ? null : come.subarray(LENGTH_BYTES, end)
}

/** A packet with its length before it. */
export function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt16BE(packet.length)
  return Buffer.concat([length, packet])
}
