import type { AppendProposal } from "../proposal.ts"

const TEXT_OID = 25
const INTEGER_OID = 23
const UUID_OID = 2950

/**
 * The arguments of `eventstore.append_many` for these appends, as arrays in PostgreSQL's binary form:
 * nothing is quoted, and the server copies them instead of parsing them.
 */
export function appendParameters(appends: readonly AppendProposal[]): Buffer[] {
  const events = appends.flatMap((append) => append.events)
  const owners = appends.flatMap((append, index) => append.events.map(() => index + 1))
  return [
    textArray(appends.map(({ stream }) => stream)),
    integerArray(appends.map(({ expectedRevision }) => expectedRevision)),
    integerArray(appends.map((append) => append.events.length)),
    integerArray(owners),
    uuidArray(events.map(({ id }) => id)),
    textArray(events.map(({ type }) => type)),
    textArray(events.map(({ data }) => data)),
    textArray(events.map(({ metadata }) => metadata)),
  ]
}

const HEADER_BYTES = 20

/** One dimension, no nulls, counted from 1; then each element with its length in bytes. */
function startArray(elementOid: number, length: number, elementBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 4 * length + elementBytes)
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(0, 4)
  buffer.writeInt32BE(elementOid, 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return buffer
}

function textArray(values: readonly string[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  const buffer = startArray(TEXT_OID, values.length, bytes)
  let at = HEADER_BYTES
  for (const value of values) {
    const length = buffer.write(value, at + 4, "utf8")
    buffer.writeInt32BE(length, at)
    at += 4 + length
  }
  return buffer
}

function integerArray(values: readonly number[]): Buffer {
  const buffer = startArray(INTEGER_OID, values.length, 4 * values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    buffer.writeInt32BE(4, at)
    buffer.writeInt32BE(value, at + 4)
    at += 8
  }
  return buffer
}

function uuidArray(values: readonly string[]): Buffer {
  const buffer = startArray(UUID_OID, values.length, 16 * values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    buffer.writeInt32BE(16, at)
    buffer.write(value.replaceAll("-", ""), at + 4, "hex")
    at += 20
  }
  return buffer
}
