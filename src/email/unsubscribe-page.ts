/** What people see where they ask not to be written to again. */
import { escaped, htmlPage } from "../frame/routes/answers/page.ts"

/** Where they ask for it. */
export const unsubscribePath = (token: string): string => `/u/${token}`

/** The page with the button: whoever looks at links ahead of people changes nothing. */
export function askPage(token: string): string {
  const action = escaped(unsubscribePath(token))
  const button = `<form method="post" action="${action}"><button type="submit">Unsubscribe</button></form>`
  return htmlPage("Unsubscribe", `<p>Do you want no more mails from this sender?</p>\n${button}`)
}

/** What they see who asked. */
export const donePage = (): string =>
  htmlPage("Unsubscribed", "<p>You get no more mails from this sender.</p>")
