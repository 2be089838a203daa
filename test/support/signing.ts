import { generateKeyPairSync, sign } from "node:crypto"
import type { Signing } from "../../adapters/sealing/port.ts"

/** Signs with a key of its own that nothing keeps. */
export function signingOfItsOwn(): Signing {
  const { privateKey, publicKey: key } = generateKeyPairSync("ed25519")
  const publicKey = key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64")
  return {
    sign: async (text) => ({
      publicKey,
      signature: sign(null, Buffer.from(text), privateKey).toString("base64"),
    }),
  }
}
