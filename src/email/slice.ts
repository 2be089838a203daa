/** Mails: those that companies send, those that come back, and those of the program. */
import { MAIL_AGGREGATE, SUPPRESSIONS_AGGREGATE } from "../../domain/email/aggregates.ts"
import { mailsReadModel } from "../../projections/email/mails.ts"
import { suppressionsReadModel } from "../../projections/email/suppressions.ts"
import type { Slice } from "../frame/slice.ts"
import { bounceDaemon } from "./bounce-daemon.ts"
import { dkimMigrations, dkimTables, dkimKeysProvider } from "./providers/dkim-keys.ts"
import { examineMailer, mailerProvider } from "./providers/mailer.ts"
import { emailOperations, simulatedMailOperations } from "./operate/emails.ts"
import { suppressionOperations } from "./operate/suppressions.ts"
import { suppressDeadAddresses } from "./reactions/suppress-dead-addresses.ts"
import { sendMail } from "./send-mail.ts"
import { mailSettings } from "./settings.ts"
import { showUnsubscribePage, unsubscribe } from "./unsubscribe.ts"

/** What is sent by mail, and what comes back. */
export const emailSlice: Slice = {
  name: "email",
  streams: { perCompany: [MAIL_AGGREGATE, SUPPRESSIONS_AGGREGATE] },
  groups: {
    email: `Email: one mail to up to 50 people at a time, from a sending domain of the company that is verified.

Each recipient gets a mail of their own that names them alone, signed for the sending domain. The answer comes after at
most 12 seconds with what is known by then: who has it, who gets it later, and who cannot be written to. All of them are
charged; only a mail that was refused before anybody had it (\`not_sent\`) is given back.`,
  },
  routes: [sendMail],
  pages: [showUnsubscribePage, unsubscribe],
  readModels: [mailsReadModel, suppressionsReadModel],
  reactions: [suppressDeadAddresses],
  settings: [mailSettings],
  providers: [mailerProvider, dkimKeysProvider],
  daemons: [bounceDaemon],
  doctorCheck: examineMailer,
  migrations: dkimMigrations,
  tables: dkimTables,
  commands: [...simulatedMailOperations, ...emailOperations, ...suppressionOperations],
  topics: {
    mail: "the built-in mailer",
    email: "what companies send by mail",
    suppression: "whom companies must not write to",
  },
}
