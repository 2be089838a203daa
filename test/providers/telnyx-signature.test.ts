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

/** What came, as it is checked. */
function sent(headers: Record<string, string>, raw: string | Uint8Array = BODY) {
  const signature = headers["telnyx-signature-ed25519"] ?? null
  return { signature, timestamp: headers["telnyx-timestamp"] ?? null, raw: Buffer.from(raw) }
}

describe("a signature of Telnyx", () => {
  it("vouches for a body and for when it was signed", () => {
    expect(check(sent(account.headersOf(BODY, NOW)), NOW)).toBe(NOW)
  })

  it("is over the bytes, whether they are text or not", () => {
    const raw = Buffer.from([0xff, 0, 0x7b])
    expect(check(sent(account.headersOf(raw, NOW), raw), NOW)).toBe(NOW)
  })

  it("is none where a byte of the body was changed, or the time", () => {
    const headers = account.headersOf(BODY, NOW)
    expect(check(sent(headers, BODY.replace("1", "2")), NOW)).toBeNull()
    expect(check(sent(headers, `${BODY} `), NOW)).toBeNull()
    const later = { ...headers, "telnyx-timestamp": String(NOW / 1000 + 1) }
    expect(check(sent(later), NOW)).toBeNull()
  })

  it("is none of another account's, and none that is missing or no signature", () => {
    expect(check(sent(signingAccount().headersOf(BODY, NOW)), NOW)).toBeNull()
    const headers = account.headersOf(BODY, NOW)
    const { "telnyx-signature-ed25519": _signature, ...without } = headers
    expect(check(sent(without), NOW)).toBeNull()
    const { "telnyx-timestamp": _timestamp, ...timeless } = headers
    expect(check(sent(timeless), NOW)).toBeNull()
    for (const wrong of ["", "AAAA", "*".repeat(88), `${"A".repeat(86)}==`]) {
      expect(check(sent({ ...headers, "telnyx-signature-ed25519": wrong }), NOW)).toBeNull()
    }
  })

  it("stands for five minutes, before and behind", () => {
    const headers = account.headersOf(BODY, NOW)
    for (const off of [-300_000, 300_000]) expect(check(sent(headers), NOW + off)).toBe(NOW)
    for (const off of [-301_000, 301_000]) expect(check(sent(headers), NOW + off)).toBeNull()
  })

  it.each(["", "-1", "1e9", "0x10", "NaN", " 1800000000", "99999999999999999999"])(
    "has no time %j",
    (timestamp) => {
      const headers = { ...account.headersOf(BODY, NOW), "telnyx-timestamp": timestamp }
      expect(check(sent(headers), NOW)).toBeNull()
    },
  )

  it("needs a key of 32 bytes", () => {
    expect(isTelnyxPublicKey(account.publicKey)).toBe(true)
    expect(isTelnyxPublicKey("AAAA")).toBe(false)
    expect(() => openTelnyxSignatureCheck("AAAA")).toThrow(RangeError)
  })
})
