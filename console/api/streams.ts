/** What streams hold, by the word that their names begin with. */
const CATEGORY_LABELS: Readonly<Record<string, string>> = {
  access: "People, keys and roles",
  app: "Installed app",
  box: "Box",
  boxes: "Places for boxes",
  call: "Call",
  calls: "Places for calls",
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

/** What a stream holds: `Charges, funds and limits`. */
export function streamLabel(stream: string): string {
  const [category = stream] = stream.split("-")
  return CATEGORY_LABELS[category] ?? category
}

/** What a stream is of, beside its company: `box_4Zb0x7`; null where it is the company's only one. */
export function streamSubject(stream: string): string | null {
  const [, , ...rest] = stream.split("-")
  return rest.length === 0 ? null : rest.join("-")
}
