/** Secrets of nobody, put together from parts: none stands whole in this repository. */

const letters = (length: number, of = "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0z"): string =>
  of.repeat(Math.ceil(length / of.length)).slice(0, length)

const pem = (kind: string): string =>
  [`-----BEGIN ${kind}`, "-----\n", letters(64), "\n-----END ", kind, "-----"].join("")

/** One for each rule, by its name. */
export const SECRETS: Readonly<Record<string, string>> = {
  github: ["gh", "p_", letters(36)].join(""),
  "aws-key-id": ["AK", "IA", letters(16, "QWERTY234567ASDF")].join(""),
  "google-api-key": ["AI", "za", letters(35)].join(""),
  telnyx: ["KE", "Y", letters(32, "0123456789ABCDEF"), "_", letters(22)].join(""),
  "twilio-key": ["S", "K", letters(32, "0123456789abcdef")].join(""),
  openai: ["sk", "-proj-", letters(60)].join(""),
  redis: ["redis", "://user:", letters(20), "@cache.acme.test:6379/0"].join(""),
  slack: [
    "xo",
    "xb-",
    letters(12, "0123456789"),
    "-",
    letters(13, "0123456789"),
    "-",
    letters(24),
  ].join(""),
  npm: ["np", "m_", letters(36)].join(""),
  anthropic: ["sk", "-ant-api03-", letters(93), "AA"].join(""),
  stripe: ["sk", "_live_", letters(24)].join(""),
  sendgrid: ["S", "G.", letters(22), ".", letters(43)].join(""),
  "database-connection-string": [
    "postgres",
    "://owner:",
    letters(20),
    "@db.acme.test:5432/app",
  ].join(""),
  basicauth: ["https", "://owner:", letters(20), "@acme.test/path"].join(""),
  "private-key": pem(["OPENSSH PRIVATE", "KEY"].join(" ")),
}
