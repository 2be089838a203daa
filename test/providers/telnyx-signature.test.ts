import { describe, expect, it } from "vitest"
import {
  isTelnyxPublicKey,
  openTelnyxSignatureCheck,
} from "../../adapters/providers/telnyx/webhook-signature.ts"
import { signingAccount } from "../support/telnyx-signing.ts"

const NOW = 1_800_000_000_000
const BODY = '{"data":{"id":"1"}}'
const account = signingAccount()
const check = openTelnyxSignatureCheck(account.publicKey)

/** A received notification in the form that the check needs. */
function received(headers: Record<string, string>, raw: string | Uint8Array = BODY) {
  const signature = headers["telnyx-signature-ed25519"] ?? null
  return { signature, timestamp: headers["telnyx-timestamp"] ?? null, raw: Buffer.from(raw) }
}

describe("a Telnyx signature", () => {
  it("proves a body and the time it was signed", () => {
    expect(check(received(account.headersOf(BODY, NOW)), NOW)).toBe(NOW)
  })

  it("covers the raw bytes, even if they are not text", () => {
    const raw = Buffer.from([0xff, 0, 0x7b])
    expect(check(received(account.headersOf(raw, NOW), raw), NOW)).toBe(NOW)
  })

  it("is invalid if a byte of the body or the time changed", () => {
    const headers = account.headersOf(BODY, NOW)
    expect(check(received(headers, BODY.replace("1", "2")), NOW)).toBeNull()
    expect(check(received(headers, `${BODY} `), NOW)).toBeNull()
    const later = { ...headers, "telnyx-timestamp": String(NOW / 1000 + 1) }
    expect(check(received(later), NOW)).toBeNull()
  })

  it("is invalid if it is from another account, missing or malformed", () => {
    expect(check(received(signingAccount().headersOf(BODY, NOW)), NOW)).toBeNull()
    const headers = account.headersOf(BODY, NOW)
    const { "telnyx-signature-ed25519": _signature, ...without } = headers
    expect(check(received(without), NOW)).toBeNull()
    const { "telnyx-timestamp": _timestamp, ...timeless } = headers
    expect(check(received(timeless), NOW)).toBeNull()
    for (const invalid of ["", "AAAA", "*".repeat(88), `${"A".repeat(86)}==`]) {
      expect(check(received({ ...headers, "telnyx-signature-ed25519": invalid }), NOW)).toBeNull()
    }
  })

  it("is valid for five minutes before and after its time", () => {
    const headers = account.headersOf(BODY, NOW)
    for (const off of [-300_000, 300_000]) expect(check(received(headers), NOW + off)).toBe(NOW)
    for (const off of [-301_000, 301_000]) expect(check(received(headers), NOW + off)).toBeNull()
  })

  it.each(["", "-1", "1e9", "0x10", "NaN", " 1800000000", "99999999999999999999"])(
    "is invalid with the timestamp %j",
    (timestamp) => {
      const headers = { ...account.headersOf(BODY, NOW), "telnyx-timestamp": timestamp }
      expect(check(received(headers), NOW)).toBeNull()
    },
  )

  it("needs a key of 32 bytes", () => {
    expect(isTelnyxPublicKey(account.publicKey)).toBe(true)
    expect(isTelnyxPublicKey("AAAA")).toBe(false)
    expect(() => openTelnyxSignatureCheck("AAAA")).toThrow(RangeError)
  })
})
