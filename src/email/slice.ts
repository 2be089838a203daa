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

/** Email: companies' mails, returned mails, and the program's own mails. */
export const emailSlice: Slice = {
  name: "email",
  streams: { perCompany: [MAIL_AGGREGATE, SUPPRESSIONS_AGGREGATE] },
  groups: {
    email: `Email: one mail to up to 50 recipients, from a verified sending domain of the company.

Each recipient gets a separate mail that names no other recipient, signed for the sending domain. The answer comes
within 12 seconds and lists which recipients have it, which get it later, and which cannot be reached. All of them are
charged; only a mail that is rejected for all recipients (\`not_sent\`) is refunded.`,
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
    mail: "the mail simulator",
    email: "companies' emails",
    suppression: "addresses that companies must not email",
  },
}
