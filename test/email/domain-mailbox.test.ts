import { domainToASCII } from "node:url"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { addressKey, mailboxText, parseMailbox } from "../../domain/email/mailbox.ts"

const read = (text: string) => parseMailbox(text, domainToASCII)

describe("a mailbox", () => {
  it.each([
    ["ada@example.com", null, "ada@example.com"],
    ["  ada@example.com ", null, "ada@example.com"],
    ["Ada Lovelace <ada@example.com>", "Ada Lovelace", "ada@example.com"],
    ['"Lovelace, Ada" <ada@example.com>', "Lovelace, Ada", "ada@example.com"],
    ['"a \\"b\\" \\\\ c" <ada@example.com>', 'a "b" \\ c', "ada@example.com"],
    ["J. Doe 漢 <ada@example.com>", "J. Doe 漢", "ada@example.com"],
    ["<ada@example.com>", null, "ada@example.com"],
    ["Ada+Tag@Example.COM", null, "Ada+Tag@example.com"],
    ["ada@bücher.example", null, "ada@xn--bcher-kva.example"],
  ])("is read: %s", (text, name, address) => {
    const domain = address.slice(address.indexOf("@") + 1)
    expect(read(text)).toEqual({ name, address, domain })
  })

  it.each([
    "",
    "ada",
    "@example.com",
    "ada@",
    "ada@localhost",
    "ada@[127.0.0.1]",
    "ada@127.0.0.1",
    "all: a@example.com, b@example.com;",
    "a@example.com, b@example.com",
    "a@b@example.com",
    "a@example.com> SIZE=1\r\nRCPT TO:<b@example.com>",
    "a..b@example.com",
    ".a@example.com",
    "a\r\nBcc: b@example.com <a@example.com>",
    "a b@example.com",
    '"a b"@example.com',
    "a@exa mple.com",
    "a@example..com",
    "a@-example.com",
    "a@example.com.",
    "a@ex%61mple.com",
    "a@0x7f.1",
    "a@example.com/b",
    "ä@example.com",
    "a\u202e <a@example.com>",
    "a\0@example.com",
    "a@ours.example, b@evil.example <a@ours.example>",
    "a (b) <a@example.com>",
    "a <a@example.com> b",
    "a <b <a@example.com>",
    'a "b" <a@example.com>',
    "a\u2028@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(64)}.com`,
    `a@${"b.".repeat(126)}com`,
    "a@example.c_m",
    "a@ex\u00adample.com",
  ])("is none: %j", (text) => {
    expect(read(text)).toBeNull()
  })

  it("is one of the same key as it is written otherwise", () => {
    const ways = ["Ada@Bücher.example", "x <aDA@XN--BCHER-KVA.example>"]
    const keys = ways.map((text) => addressKey(read(text) ?? expect.fail(text)))
    expect(keys).toEqual(Array(2).fill("ada@xn--bcher-kva.example"))
  })

  it("is read again as it is written down", () => {
    const name = fc.option(fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }))
    fc.assert(
      fc.property(name, (named) => {
        const text = mailboxText({ name: named, address: "a@example.com", domain: "example.com" })
        const found = read(text)
        // What is no name at all is refused, and never read as another address.
        if (found !== null) expect(found.address).toBe("a@example.com")
        if (found !== null && found.name !== null) expect(read(mailboxText(found))).toEqual(found)
      }),
    )
  })
})
