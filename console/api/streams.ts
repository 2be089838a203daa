/** Titles of streams, by the first word of their names. */
const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  access: "People, keys and roles",
  app: "Installed app",
  box: "Box",
  boxes: "Box slots",
  call: "Call",
  calls: "Call slots",
  code: "Repository and pushes",
  domain: "Domain",
  leads: "Leads and forms",
  ledger: "Charges, funds and limits",
  mail: "Email",
  phone: "Phone numbers",
  publish: "Publishes",
  recipient: "Text recipient",
  recordings: "Recordings",
  refusals: "Refused charges",
  registration: "Registration for texts",
  suppressions: "Suppressed email addresses",
}

/** The title of a stream: `Charges, funds and limits`. */
export function streamLabel(stream: string): string {
  const [category = stream] = stream.split("-")
  return CATEGORY_LABELS[category] ?? category
}

/** The object of a stream: `box_4Zb0x7`; null if it is the company's only stream of its kind. */
export function streamSubject(stream: string): string | null {
  const [, , ...rest] = stream.split("-")
  return rest.length === 0 ? null : rest.join("-")
}
