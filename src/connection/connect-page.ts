/** `GET /connect/<code>`: the address that an app shows beside its code leads to where an owner approves it. */
import { z } from "zod"
import { htmlPage } from "../frame/routes/answers/page.ts"
import { openRoute } from "../frame/routes/declare/route.ts"
import { connectCodeOf, isConnectCode } from "./connect-code.ts"

/** The route: nothing is looked up, so it tells nobody whether there is such a code. */
export const connectPage = openRoute({
  name: "connectPage",
  method: "GET",
  url: "/connect/:code",
  group: "connection",
  summary: "Approve an app in the console",
  params: z.object({ code: z.string() }),
  success: [303, 200],
  reply: z.object({}),
  handle: async (_ports, { params }) => {
    const code = connectCodeOf(params.code)
    if (isConnectCode(code)) {
      return { ok: true, status: 303, body: {}, location: `/console?connect=${code}` }
    }
    const says =
      "<p>An app that asks to be connected shows a code of 16 letters and digits, such as " +
      "ABCD-EFGH-JKMN-PQRS. An owner approves it in the settings of the console.</p>"
    const page = htmlPage(
      "This is no code of an app",
      `${says}\n<p><a href="/console">Console</a></p>`,
    )
    return { ok: true, status: 200, body: {}, page }
  },
})
