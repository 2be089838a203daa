/** Composes mails as bytes. Addresses are parsed objects, because text could contain several. */
import type {
  MessageComposer,
  MessageCopy,
  MessageContent,
  MailboxAddress,
  DkimSigner,
} from "./port.ts"
import { UnsignedMail } from "./port.ts"

/** The signed headers; RFC 8058 requires the unsubscribe headers. */
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

/** 45 bytes are 60 base64 letters, which fit into the 75 of an encoded word (RFC 2047). */
const WORD_BYTES = 45

/** Composes and signs mails. */
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
    // Each copy sets its own.
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
 * Encodes a subject as base64 words, cut between characters. The composer would make a long subject
 * one overlong line, and pass on text that looks like an encoded word.
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
  const chunks: Buffer[] = []
  try {
    for await (const chunk of signing.sign(copy)) chunks.push(Buffer.from(chunk as Uint8Array))
  } catch (cause) {
    throw new UnsignedMail(`a mail from ${domain} could not be signed`, { cause })
  }
  const signed = Buffer.concat(chunks)
  // With an unusable key the DKIM package returns the mail unsigned.
  if (signed.subarray(0, SIGNATURE_PREFIX.length).toString() === SIGNATURE_PREFIX) return signed
  throw new UnsignedMail(`a mail from ${domain} could not be signed`)
}
