/** What people see of a form: the hosted page, and the thanks. */
import { escaped, htmlPage } from "../frame/routes/answers/page.ts"
import { PAGE_TIME, honeypot } from "../frame/routes/declare/form-sender.ts"

/** A field of the hosted page: its name, what stands beside it, and what browsers may fill in. */
const FIELDS = [
  ["firstName", "First name", 'autocomplete="given-name"'],
  ["lastName", "Last name", 'autocomplete="family-name"'],
  ["email", "Email", 'type="email" autocomplete="email"'],
  ["phone", "Phone", 'type="tel" autocomplete="tel"'],
] as const

/** Where a form is sent to, and its page is. */
export const formPath = (formId: string): string => `/forms/${formId}`
/** Where those are led who sent it. */
export const thanksPath = (formId: string): string => `${formPath(formId)}/thanks`

/** HTML of a form as it stands in any page. @param hidden HTML of what stands in it unseen */
function formHtml(action: string, hidden: string): string {
  const inputs = FIELDS.map(
    ([name, label, rest]) => `  <label>${label} <input name="${name}" ${rest}></label>`,
  )
  return [
    `<form method="post" action="${escaped(action)}">`,
    ...inputs,
    '  <label>Message <textarea name="message" rows="5"></textarea></label>',
    ...hidden.split("\n").map((line) => `  ${line}`),
    '  <button type="submit">Send</button>',
    "</form>",
  ].join("\n")
}

/** The hosted page. @param time when it was made, signed */
export function formPage(form: { formId: string; name: string }, time: string): string {
  const hidden = `${honeypot('class="away"')}\n<input type="hidden" name="${PAGE_TIME}" value="${escaped(time)}">`
  const note = "<p>Give an email or a phone number, so that somebody can answer.</p>"
  return htmlPage(form.name, `${note}\n${formHtml(formPath(form.formId), hidden)}`)
}

/** HTML to put on a page of one's own. @param baseUrl the address of this service */
export function snippetOf(baseUrl: string, formId: string): string {
  const away = honeypot('style="position:absolute;left:-100rem"')
  return formHtml(`${baseUrl}${formPath(formId)}`, away)
}

/** What those see who sent a form. */
export function thanksPage(name: string): string {
  return htmlPage(name, "<p>Thank you. It was sent.</p>")
}
