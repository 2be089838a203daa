/** Sealing without keys or random numbers: sealed text can be distinguished from plain text. */
import { createHash } from "node:crypto"
import { parseKeyedHash, parseStored } from "../../domain/kernel/ids.ts"
import type { Sealing } from "../../adapters/sealing/port.ts"

/** A hash of a text, as short as a tag. */
function tagOf(...parts: readonly string[]) {
  const digest = createHash("sha256").update(parts.join("\n")).digest("hex")
  return parseStored(parseKeyedHash, digest.slice(0, 32))
}

/** Equal texts have equal sealed forms, so that a run can be replayed. */
export const plainSealing: Sealing = {
  seal: async (_companyId, subject, text) =>
    `s1.${subject}.${Buffer.from(text).toString("base64url")}`,
  unseal: async (_companyId, sealed) =>
    Buffer.from(sealed.split(".")[2] ?? "", "base64url").toString(),
  sealBytes: async (_companyId, _subject, bytes) => Buffer.from(bytes),
  openBytes: async (_companyId, _subject, sealed) => sealed,
  tag: async (companyId, text) => tagOf(companyId, text),
  installationTag: (text) => tagOf(text),
  appSecret: (keyId) => tagOf("app", keyId),
}
