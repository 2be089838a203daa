/** With multiple processes, the process that runs a job reads the paid thing's latest state from the store. */
import { expect, it } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { optOutStateOf } from "../../domain/phone/recipient.ts"
import { parseKeyedHash, parseStored } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { paidText, textReference } from "../../src/phone/send-text.ts"
import { partialFake } from "../support/partial-fake.ts"
import { runnerWith, virtualPacer } from "../writer/runner-fixture.ts"

const COMPANY = "co_a"
const TEXT = "msg_a"
const stream = recipientStreamOf(COMPANY, parseStored(parseKeyedHash, "a1"))
const cause = causedBy("test")

it("a paid thing is found by another process a moment after it was recorded", async () => {
  const store = openMemoryEventStore()
  const pacer = virtualPacer()
  const clock = { now: () => Date.UTC(2026, 10, 21, 12) + pacer.elapsedMs() }
  const open = () => runnerWith({ store, pacer, clock })
  const [recording, working] = [open(), open()]
  // The working process has read the stream before the text was recorded.
  await working.read(stream, optOutStateOf)
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
      withoutOptOutLine: body,
      withOptOutLine: null,
      keyId: null,
      personId: null,
    },
    cause,
  )
  pacer.advance(1)
  const ports = partialFake<Ports>({ runner: working })
  expect(await paidText.checkStatus(ports, COMPANY, textReference(stream, TEXT), cause)).toBe(
    "open",
  )
})
