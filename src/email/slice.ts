/** Mails that the program sends. */
import { mailer } from "./providers/mailer.ts"
import type { Slice } from "../frame/slice.ts"
import { mailOperations } from "./operate/mail.ts"

/** Mails that the program sends. */
export const email: Slice = {
  name: "email",
  operations: mailOperations,
  topics: { mail: "the built-in mailer" },
  providers: [mailer],
}
