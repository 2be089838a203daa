/** Pages of a slice that is not there: one that is shown, and one form that is sent. */
import { z } from "zod"
import { formIn } from "../../src/frame/calls/form-body.ts"
import { escaped, htmlPage } from "../../src/frame/calls/page.ts"
import { refusal } from "../../src/frame/calls/refusal.ts"
import { BYTES, openRoute } from "../../src/frame/calls/route.ts"

const URL = "/pretended/guests"
const base = { url: URL, group: "pretended", summary: "Pretended" }

/** A page that shows who is named in its query. */
export const guestPage = openRoute({
  ...base,
  name: "showGuest",
  method: "GET",
  query: z.object({ name: z.string() }),
  reply: z.object({}),
  handle: async (_ports, { query }) => ({
    ok: true,
    body: {},
    page: htmlPage(query.name, `<p title="${escaped(query.name)}">Welcome</p>`),
  }),
})

/** Takes a form: leads a browser back to the page, tells a program what was sent, lets nobody in as `no`. */
export const guestForm = openRoute({
  ...base,
  name: "sendGuest",
  method: "POST",
  body: BYTES,
  bodyLimitBytes: 1_000,
  refusalTitle: "Not let in",
  success: [201, 303],
  reply: z.object({ values: z.array(z.array(z.string())) }),
  refuses: ["conflict", "unsupported_media_type"],
  handle: async (_ports, { body, sent }) => {
    const form = formIn(sent, body)
    if ("refusal" in form) return { ok: false, refusal: form.refusal }
    const values = [...form.values].map((pair) => [...pair])
    if (form.values.get("name") === "no") {
      return { ok: false, refusal: refusal("conflict", "Nobody <here> has this name.") }
    }
    if (!form.isPage) return { ok: true, body: { values } }
    const location = `${URL}?name=${encodeURIComponent(JSON.stringify(values))}`
    return { ok: true, body: { values }, status: 303, location }
  },
})
