import { readFileSync } from "node:fs"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ChargeRefused, Charged } from "../../domain/charging/ledger-events.ts"
import { ledgerCodec, ledgerFormats } from "../../domain/charging/ledger-formats.ts"
import { refusalCodec, refusalFormats } from "../../domain/charging/refusals.ts"
import { FormatFault } from "../../domain/kernel/format.ts"
import { arbitrariesOf } from "./arbitrary-kinds.ts"

const ledger = arbitrariesOf(ledgerFormats)
const refusals = arbitrariesOf(refusalFormats)

const golden = (path: string): string =>
  readFileSync(new URL(`../golden/${path}`, import.meta.url), "utf8")

/** The stored text as the version before wrote it: without the fields that came later. */
function without(stored: string, ...fields: readonly string[]): string {
  const kept = (key: string, value: unknown): unknown => (fields.includes(key) ? undefined : value)
  return JSON.stringify(JSON.parse(stored, kept))
}

describe("a purchase of version 1", () => {
  it.each(["PurchaseStarted", "PurchasePaid", "PurchaseFailed"])("was a key's: %s", (type) => {
    const event = ledgerCodec.decode(type as "PurchaseStarted", 1, golden(`ledger/${type}.v1.json`))
    expect(event).toMatchObject({ keyId: "key_Ab3dE6gH", personId: "per_0001" })
    const byOwner = without(golden(`ledger/${type}.v2.json`), "keyId")
    const now = ledgerCodec.decode(type as "PurchaseStarted", 2, byOwner)
    expect(now).toEqual({ ...event, keyId: null })
    expect(ledgerCodec.version("PurchaseStarted")).toBe(2)
  })
})

describe("a failed purchase of version 2", () => {
  it("named no payment", () => {
    const former = golden("ledger/PurchaseFailed.v2.json")
    const event = ledgerCodec.decode("PurchaseFailed", 2, former)
    expect(event).toMatchObject({ code: "declined", paymentId: null })
    const current = golden("ledger/PurchaseFailed.v3.json")
    expect(ledgerCodec.decode("PurchaseFailed", 3, current)).toEqual({
      ...event,
      paymentId: "pi_3Q/ä",
    })
  })
})

describe("a charge of version 1", () => {
  it("was of an id that carried state makes once-only, and weighed by itself", () => {
    const event = ledgerCodec.decode("Charged", 1, golden("ledger/Charged.v1.json"))
    expect(event).toMatchObject({ amountMicros: 18_000, open: true, once: false, weighed: false })
  })

  it("is read as it was written, whatever it was", () => {
    fc.assert(
      fc.property(fc.record(ledger.Charged, { noNullPrototype: true }), (fields) => {
        const event: Charged = { type: "Charged", ...fields, once: false, weighed: false }
        const former = without(ledgerCodec.encode(event), "once", "weighed")
        expect(ledgerCodec.decode("Charged", 1, former)).toEqual(event)
      }),
    )
  })

  it("is of no version 0 or 4, and no text of version 1 is one of version 2", () => {
    const former = golden("ledger/Charged.v1.json")
    expect(() => ledgerCodec.decode("Charged", 0, former)).toThrow(FormatFault)
    expect(() => ledgerCodec.decode("Charged", 4, former)).toThrow(FormatFault)
    expect(() => ledgerCodec.decode("Charged", 2, former)).toThrow(FormatFault)
  })
})

describe("a charge of version 2, and its refusal", () => {
  it("is read as it was written: it knew one exemption less", () => {
    const charged = golden("ledger/Charged.v2.json")
    expect(ledgerCodec.decode("Charged", 2, charged)).toMatchObject({ exempt: "funds", once: true })
    const refused = golden("refusals/ChargeRefused.v2.json")
    const event = refusalCodec.decode("ChargeRefused", 2, refused)
    expect(event).toMatchObject({ exempt: "funds", pendingMicros: 300 })
  })
})

describe("a refused charge of version 1", () => {
  it("was a text's: open, asked for funds, and no limit knew of calls in hand", () => {
    const event = refusalCodec.decode("ChargeRefused", 1, golden("refusals/ChargeRefused.v1.json"))
    expect(event).toMatchObject({ open: true, exempt: null, pendingMicros: 300 })
    expect(event).toHaveProperty("limits.0.pendingMicros", 0)
    expect(event).toHaveProperty("limits.0.usedMicros", 18_000)
  })

  it("is read as it was written, whatever it was", () => {
    fc.assert(
      fc.property(fc.record(refusals.ChargeRefused, { noNullPrototype: true }), (fields) => {
        const limits = fields.limits.map((limit) => ({ ...limit, pendingMicros: 0 }))
        const event: ChargeRefused = {
          type: "ChargeRefused",
          ...fields,
          open: true,
          exempt: null,
          limits,
        }
        const stored = JSON.parse(refusalCodec.encode(event)) as { limits: object[] }
        const bare = stored.limits.map((limit) =>
          JSON.parse(without(JSON.stringify(limit), "pendingMicros")),
        )
        const former = without(JSON.stringify({ ...stored, limits: bare }), "open", "exempt")
        expect(refusalCodec.decode("ChargeRefused", 1, former)).toEqual(event)
      }),
    )
  })
})
