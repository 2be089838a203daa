/** The mailer: so far the built-in one alone. */
import { MAIL, openBuiltInMailer } from "../../../adapters/providers/mailer/built-in.ts"
import type { Mailer, SentMails } from "../../../adapters/providers/mailer/port.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProvidedPorts {
    readonly mailer: Mailer
    /** What the built-in mailer took. */
    readonly sentMails: SentMails
  }
}

/** Sends mails. */
export const mailer: Provider = {
  from: import.meta.url,
  name: "mailer",
  simulator: MAIL,
  open: async (outside) => {
    const builtIn = openBuiltInMailer(outside)
    return { mailer: builtIn, sentMails: builtIn }
  },
}
