/** Mails as bytes. Addresses come as objects that were read before: as text they could be several. */
import type {
  MessageComposer,
  MessageCopy,
  MessageContent,
  MailboxAddress,
  DkimSigner,
} from "./port.ts"
import { UnsignedMail } from "./port.ts"

/** What a signature covers; RFC 8058 asks for the offer to unsubscribe. */
const SIGNED_HEADERS = [
  "from",
  "reply-to",
  "subject",
  "date",
  "message-id",
  "to",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "list-unsubscribe",
  "list-unsubscribe-post",
].join(":")

const SIGNATURE_PREFIX = "DKIM-Signature:"
const BLANK_LINE = "\r\n\r\n"

/** Bytes in an encoded word: as base64 they are 60 letters of the 75 that one may have (RFC 2047). */
const WORD_BYTES = 45

/** Makes mails into bytes. */
export const messageComposer: MessageComposer = { compose, sign }

async function compose({
  mailId,
  date,
  ...letter
}: MessageContent): Promise<(copy: MessageCopy) => Buffer> {
  const { from, replyTo, subject, text, html } = letter
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer")
  const root = new MailComposer({
    from: toAddress(from),
    ...(replyTo === null ? {} : { replyTo: toAddress(replyTo) }),
    ...(text === null ? {} : { text }),
    ...(html === null ? {} : { html }),
    headers: { Subject: { prepared: true, value: encodeSubject(subject) } },
    date: new Date(date),
    // Each copy has its own.
    messageId: "<composed@localhost>",
    baseBoundary: mailId,
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile()
  const built = await root.build()
  const body = built.subarray(built.indexOf(BLANK_LINE))
  return ({ to, messageId, unsubscribeUrl }) => {
    root.setHeader("To", [toAddress(to)])
    root.setHeader("Message-ID", messageId)
    if (unsubscribeUrl !== null) {
      root.setHeader("List-Unsubscribe", { prepared: true, value: `<${unsubscribeUrl}>` })
      root.setHeader("List-Unsubscribe-Post", {
        prepared: true,
        value: "List-Unsubscribe=One-Click",
      })
    }
    return Buffer.concat([Buffer.from(root.buildHeaders()), body])
  }
}

const toAddress = ({ name, address }: MailboxAddress) => ({ name, address })

/**
 * A subject as it stands in the header: words of base64, cut between characters. Left to a composer, a
 * long one would be a line too long, and what looks like an encoded word would go out as one.
 */
export function encodeSubject(subject: string): string {
  const words: string[] = []
  let word = ""
  for (const character of subject) {
    if (Buffer.byteLength(word + character) > WORD_BYTES) {
      words.push(word)
      word = ""
    }
    word += character
  }
  words.push(word)
  return words.map((one) => `=?UTF-8?B?${Buffer.from(one).toString("base64")}?=`).join("\r\n ")
}

async function sign(copy: Buffer, { domain, selector, privateKey }: DkimSigner): Promise<Buffer> {
  const { default: DKIM } = await import("nodemailer/lib/dkim")
  const signing = new DKIM({
    domainName: domain,
    keySelector: selector,
    privateKey,
    headerFieldNames: SIGNED_HEADERS,
  })
  const pieces: Buffer[] = []
  try {
    for await (const piece of signing.sign(copy)) pieces.push(Buffer.from(piece as Uint8Array))
  } catch (cause) {
    throw new UnsignedMail(`a mail from ${domain} could not be signed`, { cause })
  }
  const signed = Buffer.concat(pieces)
  // With a key that it cannot use it hands the mail on as it was.
  if (signed.subarray(0, SIGNATURE_PREFIX.length).toString() === SIGNATURE_PREFIX) return signed
  throw new UnsignedMail(`a mail from ${domain} could not be signed`)
}
