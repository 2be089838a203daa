/** Several processes know a paid thing: whichever has its job goes by what the store knows. */
import { expect, it } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { recipientOf } from "../../domain/phone/aggregates.ts"
import { standingOf } from "../../domain/phone/recipient.ts"
import { parseKeyedHash, parsed } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { text, textAt } from "../../src/phone/send-text.ts"
import { partly } from "../support/partly.ts"
import { runnerWith, virtualPacer } from "../writer/bench.ts"

const COMPANY = "co_a"
const TEXT = "msg_a"
const stream = recipientOf(COMPANY, parsed(parseKeyedHash, "a1"))
const cause = causedBy("test")

it("is found by the process that has its job a moment after another one recorded it", async () => {
  const store = openMemoryEventStore()
  const pacer = virtualPacer()
  const clock = { now: () => Date.UTC(2026, 10, 21, 12) + pacer.elapsedMs() }
  const open = () => runnerWith({ store, pacer, clock })
  const [recording, working] = [open(), open()]
  // The worker's process has read the stream before the text was recorded.
  await working.read(stream, standingOf)
  const body = { body: "s1.body", segments: 1, amountMicros: 9_000 } as const
  await recording.execute(
    stream,
    {
      type: "QueueText",
      messageId: TEXT,
      chargeId: "chg_a",
      chargedMicros: 9_000,
      numberId: "num_a",
      to: "s1.to",
      asWritten: body,
      withLine: null,
      keyId: null,
      personId: null,
    },
    cause,
  )
  pacer.pass(1)
  const ports = partly<Ports>({ runner: working })
  expect(await text.look(ports, COMPANY, textAt(stream, TEXT), cause)).toBe("open")
})
