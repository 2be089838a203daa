/** Signs webhooks as a Telnyx account does, with a generated key. */
import { generateKeyPairSync, sign } from "node:crypto"

export interface SigningAccount {
  /** 32 bytes in base64, as Telnyx shows it. */
  readonly publicKey: string
  /** The headers of a body signed at a time in UTC milliseconds. */
  readonly headersOf: (raw: string | Uint8Array, at: number) => Record<string, string>
}

/** Makes an account with a new key pair. */
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
