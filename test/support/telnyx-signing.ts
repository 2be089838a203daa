/** Signing as an account of Telnyx does, with a key made for it. */
import { generateKeyPairSync, sign } from "node:crypto"

/** An account that signs what it calls back. */
export interface SigningAccount {
  /** As Telnyx shows it: 32 bytes in base64. */
  readonly publicKey: string
  /** The headers of a body that is signed at a time, UTC milliseconds. */
  readonly headersOf: (raw: string | Uint8Array, at: number) => Record<string, string>
}

/** Makes an account with keys of its own. */
export function signingAccount(): SigningAccount {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519")
  const der = publicKey.export({ format: "der", type: "spki" })
  return {
    publicKey: der.subarray(-32).toString("base64"),
    headersOf: (raw, at) => {
      const timestamp = String(Math.floor(at / 1000))
      const signed = Buffer.concat([Buffer.from(`${timestamp}|`), Buffer.from(raw)])
      return {
        "content-type": "application/json",
        "telnyx-timestamp": timestamp,
        "telnyx-signature-ed25519": sign(null, signed, privateKey).toString("base64"),
      }
    },
  }
}
