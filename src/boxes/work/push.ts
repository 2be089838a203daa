/** `POST /api/v1/sandboxes/:id/push`: what stands in a box, onto its branch, through every check of a push. */
import { z } from "zod"
import { CodeTorn } from "../../../adapters/sandbox/boxhost/port.ts"
import type { CodeOut } from "../../../adapters/sandbox/boxhost/port.ts"
import { route } from "../../frame/routes/declare/route.ts"
import type { Caller } from "../../frame/routes/declare/route.ts"
import { filledText } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { note } from "../activity.ts"
import { BOXES_URL, BOX_ROUTE, OfBox, byCaller, change, inBox } from "../box-route.ts"
import { gitPersonOf } from "../bring-code.ts"
import { WORK_REFUSALS } from "../codes.ts"
import { cutAt } from "../cut-text.ts"
import type { FoundBox } from "../find-box.ts"
import { BOX_TOOLS } from "../tools.ts"

/** What who pushes from a box must be granted, also when all of it is there. */
const PUSH_RULES = {
  operation: "sandbox.push",
  also: ["sandbox.read"],
  permissions: ["Push and upload code"],
} as const

const NOBODY = { name: "Box", email: "box@localhost" }
const MOST_OUTPUT = 200_000

const PushReply = z.object({
  pushed: z.boolean().describe("Whether the branch has it now"),
  branch: z.string().describe("The box's branch"),
  exitCode: z.int().describe("Of git in the box, 1 where the code server refused it"),
  output: z.string().describe("What was said to it"),
})

type Pushed = Omit<z.infer<typeof PushReply>, "branch">

/** Commits and pushes. */
export const pushBox = route({
  ...BOX_ROUTE,
  ...PUSH_RULES,
  name: "pushBox",
  method: "POST",
  url: `${BOXES_URL}/:id/push`,
  summary: "Commit what is in a box and push its branch",
  example: { params: { id: "box_4Zb0x7" }, body: { message: "Fix the tests" } },
  tool: BOX_TOOLS.push,
  params: OfBox,
  body: z.object({
    message: filledText(2_000).describe("What changed, for the history"),
  }),
  reply: PushReply,
  refuses: WORK_REFUSALS,
  handle: (ports, caller, { params, body, gone, stopping }) =>
    inBox(ports, caller, params.id, async (box, found) => {
      const { companyId, view } = found
      const branch = (await ports.sealing.open(companyId, view.started.branch)) ?? ""
      const author = await gitPersonOf(ports, companyId, view.started.personId)
      // Both sides have what the box was given, or pushed last.
      const given = { branch, base: view.commit, message: body.message }
      const out = await ports.boxCode.take(box, { ...given, author: author ?? NOBODY })
      const pushed = await take(
        ports,
        caller,
        { out, branch, found },
        AbortSignal.any([gone, stopping]),
      )
      const result = pushed.pushed ? "pushed" : pushed.exitCode === 0 ? "nothing" : "refused"
      await note(ports, caller, found, { action: "push", detail: body.message, result })
      return { ok: true, body: { ...pushed, branch } }
    }),
})

interface Taken {
  readonly out: CodeOut
  readonly branch: string
  readonly found: FoundBox
}

/** Hands what came out of a box to the code server. */
async function take(
  ports: Pick<Ports, "companyCode" | "runner">,
  caller: Caller,
  { out, branch, found }: Taken,
  signal: AbortSignal,
): Promise<Pushed> {
  if (out.is === "nothing") {
    return { pushed: false, exitCode: 0, output: "There is nothing to commit or push." }
  }
  if (out.is === "refused") {
    return { pushed: false, exitCode: out.exitCode, output: cutAt(out.says, MOST_OUTPUT) }
  }
  const { tip, pack } = out
  try {
    const sent = { branch, tip, pack, signal }
    const { pushed, lines } = await ports.companyCode.takePack(caller, PUSH_RULES, sent)
    if (!pushed) return { pushed, exitCode: 1, output: lines.join("\n") }
    const command = { type: "PushBox" as const, commit: tip, ...byCaller(caller, found) }
    await change(ports, caller, found, command)
    return { pushed, exitCode: 0, output: `${branch} is at ${tip} now.` }
  } catch (error) {
    if (!(error instanceof CodeTorn)) throw error
    return { pushed: false, exitCode: 1, output: "What the box packed is torn; push again." }
  }
}
