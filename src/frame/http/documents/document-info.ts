/** What the document says of the API as a whole, for people: its first page, keys, and a page a group. */
import type { Json } from "./named-schemas.ts"

/** The program's own name. */
export const PRODUCT = "company-ledger"
/** What the page is called, in its title and at its head. */
export const TITLE = `Company Platform API of ${PRODUCT}`

const FIRST_PAGE = `Everything a company's API keys can do. Every charge is checked against the funds and each spending
limit in the same write that records it.

## Keys

Each request carries \`Authorization: Bearer cpk_…\`. A key is shown once, when it is made; it works at once, until it is
paused or deleted. A key belongs to a person, or is the shared key of the company's app. Each route names the operation
that the key must be granted, and what its person must be permitted. A key whose own spending limit is used up is refused
as a key: 401 \`invalid_key\`, with the \`limit\`.

## Money

Fields that end in \`Micros\` are whole millionths of a US dollar: \`9000\` is $0.009. Every other amount is in dollars,
exact and never rounded. One amount is rounded, up to whole dollars: the \`amount\` that a 402 offers to buy.

A charge must fit every limit of the key, the person and the company (429 \`spend_limit_reached\`, which funds do not
help), and then the funds (402 \`payment_required\`). A 402 with \`pay\` holds the request that buys what is missing.

Times are ISO 8601 in UTC. Days, weeks (from Monday) and months of limits begin at 00:00 UTC.

## Sending again

What is charged takes an \`Idempotency-Key\` of 1 to 255 characters, of your own making. The same key and body give the
same answer, with \`Idempotency-Replayed: true\`, and nothing is charged twice; answers are kept for 30 days, those to
purchases for ever. Another body with the same key is 409 \`idempotency_conflict\`. A refusal frees the key: after a 402,
pay, and send the original again. A 503 says whether it is certain that nothing was charged; where it is not, send the
same request with the same key again.

## Reading what was written

Whatever writes answers with \`Ledger-Position\`. A GET that sends it back waits up to two seconds until it shows what was
written there; where that takes longer, it answers what there is with \`Ledger-Stale: true\`. Reads with the key that
wrote do so by themselves, on the process that it wrote to.

## Lists

Where there is more, a list ends with \`nextCursor\`: send it back as \`cursor\`, as it is. Where there is none, that was
all. A query parameter that a route does not have is 400, with the nearest one that it has.

## Errors

Every error is \`{"error": "<code>", "message": "<a sentence>", …}\`. Decide by \`error\`; \`message\` is for people. With
\`validation\`, \`fields\` says what is wrong by field. Every answer carries \`x-request-id\`: tell it to whoever runs the
server.

An unknown path is 404 and another verb 405. Then, in this order: the key 401, the account 402, the company's or person's
limit used up 429, the call is counted, the rate 429, the key's operation 403, the person's permissions 403, the values
400, the thing's own rules 404 or 409, limits 429, funds 402, what is done outside 503.

## Rate limits

Paid calls are limited to 120 a minute and key; other rates stand at their routes. Over one: 429 \`rate_limited\` with
\`Retry-After: 60\`. Each process of the server counts for itself. Money never depends on it.

## API calls

A route that is counted says so. Each counted call weighs in the limits at once, whatever comes of it behind the account's
checks, and is charged the next night. Calls gather for up to five seconds before they are recorded. Where several
processes serve, a limit can be passed by the calls that these five seconds let through, which the record says; by
anything that is charged, never.
`

/** What a key is, and how the app's shared key says who is signed in. */
const KEY = `An API key of the company. A call through the app's shared key can carry a person's sign-in: \`X-Person-Id\`,
\`X-Person-Time\` (ISO 8601, within 60 seconds) and \`X-Person-Signature\`, the HMAC-SHA-256 in hexadecimal, keyed with the
app's secret, over five texts joined by line feeds: the verb, the path with its query as it is sent, the SHA-256 of the
body's bytes in hexadecimal (of no bytes where there is no body), the time, the person's id. The call is then checked and
weighed as that person's.

A signed request can be sent again, as it is, as long as its time is within 60 seconds of the server's: whoever reads it
on its way can repeat it, and nothing else. What must happen once takes an \`Idempotency-Key\`.`

const RETIRED = "Routes that are no longer there: they answer 410 to every verb."
/** The group of what is retired. */
export const RETIRED_GROUP = "retired"

/** Lines that were broken for those who read the source are one again. */
const flowing = (words: string): string => words.replaceAll(/(?<=\S)\n(?=[^\n#])/g, " ")

/** Name, version and first page. */
export const INFO: Json = { title: TITLE, version: "1.0.0", description: flowing(FIRST_PAGE) }

/** How callers say who they are. */
export const SECURITY: Json = {
  key: {
    type: "http",
    scheme: "bearer",
    bearerFormat: "cpk_…",
    description: flowing(KEY),
  },
}

/** The groups of some routes with what each is for, in the order of the routes. */
export function tagsOf(
  used: readonly string[],
  groups: Readonly<Record<string, string>>,
  hasRetired: boolean,
): readonly Json[] {
  const tags = [...new Set(used)].map((name) => {
    const description = groups[name]
    return description === undefined ? { name } : { name, description: flowing(description) }
  })
  return hasRetired ? [...tags, { name: RETIRED_GROUP, description: RETIRED }] : tags
}
