/** Mails as bytes: signed, the same again, and saying what was meant. */
import { generateKeyPairSync } from "node:crypto"
import fc from "fast-check"
import { dkimVerify } from "mailauth"
import PostalMime from "postal-mime"
import { describe, expect, it } from "vitest"
import { composer, encodedSubject } from "../../adapters/providers/mailer/message.ts"
import type { Copy, Letter } from "../../adapters/providers/mailer/port.ts"
import { UnsignedMail } from "../../adapters/providers/mailer/port.ts"

const pair = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  publicKeyEncoding: { type: "spki", format: "der" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})
const SIGNER = { domain: "mail.example.com", selector: "cp1", privateKey: pair.privateKey }
const RECORD = `v=DKIM1; k=rsa; p=${pair.publicKey.toString("base64")}`

const LETTER: Letter = {
  mailId: "mail_1",
  from: { name: "Acme", address: "a@mail.example.com" },
  replyTo: null,
  subject: "Hello",
  text: "Hi",
  html: null,
  at: Date.UTC(2026, 10, 24),
}
const COPY: Copy = {
  to: { name: "", address: "ada@example.com" },
  messageId: "<1.0@mail.example.com>",
  unsubscribeUrl: null,
}

async function bytesOf(letter: Partial<Letter> = {}, copy: Partial<Copy> = {}): Promise<Buffer> {
  const copyFor = await composer.compose({ ...LETTER, ...letter })
  return composer.sign(copyFor({ ...COPY, ...copy }), SIGNER)
}

async function verdictOf(bytes: Buffer): Promise<string | undefined> {
  const resolver = async (name: string) => {
    expect(name).toBe("cp1._domainkey.mail.example.com")
    return [[RECORD]]
  }
  const { results } = await dkimVerify(bytes, { resolver })
  return results[0]?.status.result
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 120 })
const line = words.map((text) => text.replaceAll(/\p{Cc}/gu, "")).filter((text) => text !== "")

describe("a mail as bytes", () => {
  it("passes DKIM, whatever it says and whoever it is from and to", async () => {
    await fc.assert(
      fc.asyncProperty(line, words, words, line, async (subject, text, html, name) => {
        const from = { name, address: "a@mail.example.com" }
        const to = { name, address: "ada@example.com" }
        const bytes = await bytesOf({ subject, text, html, from }, { to })
        expect(await verdictOf(bytes)).toBe("pass")
        const parsed = await PostalMime.parse(bytes)
        expect(parsed.subject).toBe(subject)
        expect(parsed.from?.address).toBe("a@mail.example.com")
        expect(parsed.to?.map(({ address }) => address)).toEqual(["ada@example.com"])
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it("is the same again, and another for another recipient", async () => {
    const html = "<p>Hi</p>"
    const [one, again] = await Promise.all([bytesOf({ html }), bytesOf({ html })])
    expect(one?.equals(again ?? Buffer.alloc(0))).toBe(true)
    const other = await bytesOf({ html }, { to: { name: "", address: "bob@example.com" } })
    expect(other.toString()).not.toContain("ada@example.com")
  })

  it("signs the offer to unsubscribe with it", async () => {
    const bytes = await bytesOf({}, { unsubscribeUrl: "https://ledger.test/u/1.0.ab" })
    const { results } = await dkimVerify(bytes, { resolver: async () => [[RECORD]] })
    expect(results[0]?.status.result).toBe("pass")
    const signed = (results[0]?.signingHeaders?.keys ?? "").toLowerCase()
    expect(signed).toContain("list-unsubscribe-post")
    expect(bytes.toString()).toContain("List-Unsubscribe: <https://ledger.test/u/1.0.ab>\r\n")
  })

  it.each(["not a key", ""])("does not leave unsigned: %j", async (privateKey) => {
    const copyFor = await composer.compose(LETTER)
    const signing = composer.sign(copyFor(COPY), { ...SIGNER, privateKey })
    await expect(signing).rejects.toThrow(UnsignedMail)
  })

  it("does not leave with a signature that nobody checks", async () => {
    const { privateKey } = generateKeyPairSync("ed25519", {
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    })
    const copyFor = await composer.compose(LETTER)
    const signing = composer.sign(copyFor(COPY), { ...SIGNER, privateKey })
    await expect(signing).rejects.toThrow(UnsignedMail)
  })

  it.each(["x".repeat(998), "漢".repeat(998), "😀".repeat(998), "=?UTF-8?Q?a?=", " edges "])(
    "carries its subject to the letter, in short lines: %#",
    async (subject) => {
      const bytes = await bytesOf({ subject })
      expect((await PostalMime.parse(bytes)).subject).toBe(subject)
      const longest = Math.max(
        ...bytes
          .toString()
          .split("\r\n")
          .map((one) => one.length),
      )
      expect(longest).toBeLessThanOrEqual(998)
      const lines = encodedSubject(subject).split("\r\n")
      expect(Math.max(...lines.map((one) => one.length))).toBeLessThanOrEqual(76)
    },
  )

  it("keeps to itself what looks like a file or an address", async () => {
    const text = "file:///etc/passwd"
    const parsed = await PostalMime.parse(await bytesOf({ text }))
    expect(parsed.text?.trim()).toBe(text)
  })
})
