/** The content of mails, too large for a fact: a sealed blob while a mail is being sent. */
import { createHash } from "node:crypto"
import { z } from "zod"
import { BlobExists } from "../../adapters/postgres/blobs/port.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import type { MailId } from "../../domain/email/ids.ts"
import type { Mailbox } from "../../domain/email/mailbox.ts"
import { formatMailbox } from "../../domain/email/mailbox.ts"
import type { CompanyId, KeyedHash } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import { mailboxSchema } from "./mailboxes.ts"

/** More than the body of a request can hold. */
const MAX_BYTES = 16 * 1024 * 1024

const StoredMailContent = z.object({
  from: mailboxSchema,
  replyTo: mailboxSchema.nullable(),
  subject: z.string(),
  text: z.string().nullable(),
  html: z.string().nullable(),
})

/** The content of a mail, and its sender. */
export interface AcceptedMailContent {
  readonly from: Mailbox
  readonly replyTo: Mailbox | null
  readonly subject: string
  readonly text: string | null
  readonly html: string | null
}

/** Stores the content of a mail once; returns a keyed hash of it. */
export async function storeMailContent(
  { blobs, sealing }: Pick<Ports, "blobs" | "sealing">,
  companyId: CompanyId,
  mailId: MailId,
  { from, replyTo, ...rest }: AcceptedMailContent,
): Promise<KeyedHash> {
  const written = { from: formatMailbox(from), replyTo: replyTo && formatMailbox(replyTo), ...rest }
  const bytes = Buffer.from(JSON.stringify(written))
  const blob = { companyId, subject: COMPANY_SUBJECT, blobId: mailId }
  try {
    await blobs.write(blob, singleChunk(bytes), { maxBytes: MAX_BYTES })
  } catch (error) {
    // An earlier attempt of the same request stored the same content.
    if (!(error instanceof BlobExists)) throw error
  }
  return sealing.tag(companyId, createHash("sha256").update(bytes).digest("hex"))
}

async function* singleChunk(bytes: Buffer): AsyncIterable<Buffer> {
  yield bytes
}

/** Reads the content of a mail; null after its deletion. */
export async function readMailContent(
  { blobs }: Pick<Ports, "blobs">,
  companyId: CompanyId,
  mailId: MailId,
): Promise<AcceptedMailContent | null> {
  const blob = await blobs.find(companyId, mailId)
  if (blob === null) return null
  const read: Buffer[] = []
  for await (const piece of blob.read()) read.push(piece)
  return StoredMailContent.parse(JSON.parse(Buffer.concat(read).toString()))
}
