/** `POST /api/v1/sandboxes/:id/push`: commits and pushes the box's branch, through every check of a push. */
import { z } from "zod"
import { PackTruncated } from "../../../adapters/sandbox/boxhost/port.ts"
import type { CodeCommitResult } from "../../../adapters/sandbox/boxhost/port.ts"
import { route } from "../../frame/routes/declare/route.ts"
import type { Caller } from "../../frame/routes/declare/route.ts"
import { nonBlankText } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { logCallerActivity } from "../activity.ts"
import {
  BOXES_URL,
  BOX_ROUTE,
  BoxParams,
  boxActorFields,
  executeOnBox,
  withRunningBox,
} from "../box-route.ts"
import { gitPersonOf } from "../check-out-code.ts"
import { BOX_REFUSALS } from "../box-errors.ts"
import { truncateText } from "../truncate-text.ts"
import type { FoundBox } from "../find-box.ts"
import { BOX_TOOLS } from "../tools.ts"

/** The rules for a push from a box, checked even if there is nothing to push. */
const PUSH_RULES = {
  operation: "sandbox.push",
  additionalOperations: ["sandbox.read"],
  permissions: ["Push and upload code"],
} as const

const FALLBACK_AUTHOR = { name: "Box", email: "box@localhost" }
const MAX_OUTPUT = 200_000

const PushReply = z.object({
  pushed: z.boolean().describe("Whether the branch has the commit"),
  branch: z.string().describe("Branch of the box"),
  exitCode: z.int().describe("Exit code of git in the box; 1 if the code server refused the push"),
  output: z.string().describe("Messages of git and of the code server"),
})

type PushOutcome = Omit<z.infer<typeof PushReply>, "branch">

/** Commits the changes in a box and pushes its branch. */
export const pushBox = route({
  ...BOX_ROUTE,
  ...PUSH_RULES,
  name: "pushBox",
  method: "POST",
  url: `${BOXES_URL}/:id/push`,
  summary: "Commit what is in a box and push its branch",
  example: { params: { id: "box_4Zb0x7" }, body: { message: "Fix the tests" } },
  tool: BOX_TOOLS.push,
  params: BoxParams,
  body: z.object({
    message: nonBlankText(2_000).describe("Commit message"),
  }),
  reply: PushReply,
  refusalCodes: BOX_REFUSALS,
  handle: (ports, caller, { params, body, callerGone, stopping }) =>
    withRunningBox(ports, caller, params.id, async (box, found) => {
      const { companyId, view } = found
      const branch = (await ports.sealing.unseal(companyId, view.started.branch)) ?? ""
      const author = await gitPersonOf(ports, companyId, view.started.personId)
      // The commit that both sides have: the start commit, or the one pushed last.
      const given = { branch, base: view.commit, message: body.message }
      const out = await ports.boxCode.commit(box, { ...given, author: author ?? FALLBACK_AUTHOR })
      const pushed = await pushPack(
        ports,
        caller,
        { out, branch, found },
        AbortSignal.any([callerGone, stopping]),
      )
      const result = pushed.pushed ? "pushed" : pushed.exitCode === 0 ? "nothing" : "refused"
      await logCallerActivity(ports, caller, found, {
        action: "push",
        detail: body.message,
        result,
      })
      return { ok: true, body: { ...pushed, branch } }
    }),
})

interface PushInput {
  readonly out: CodeCommitResult
  readonly branch: string
  readonly found: FoundBox
}

/** Sends the pack from a box to the code server. */
async function pushPack(
  ports: Pick<Ports, "companyCode" | "runner">,
  caller: Caller,
  { out, branch, found }: PushInput,
  signal: AbortSignal,
): Promise<PushOutcome> {
  if (out.outcome === "nothing") {
    return { pushed: false, exitCode: 0, output: "Nothing to commit or push." }
  }
  if (out.outcome === "refused") {
    return { pushed: false, exitCode: out.exitCode, output: truncateText(out.output, MAX_OUTPUT) }
  }
  const { tip, pack } = out
  try {
    const sent = { branch, tip, pack, signal }
    const { pushed, lines } = await ports.companyCode.receivePack(caller, PUSH_RULES, sent)
    if (!pushed) return { pushed, exitCode: 1, output: lines.join("\n") }
    const command = {
      type: "RecordBoxPush" as const,
      commit: tip,
      ...boxActorFields(caller, found),
    }
    await executeOnBox(ports, caller, found, command)
    return { pushed, exitCode: 0, output: `${branch} is now at ${tip}.` }
  } catch (error) {
    if (!(error instanceof PackTruncated)) throw error
    return {
      pushed: false,
      exitCode: 1,
      output: "The pack from the box is incomplete. Push again.",
    }
  }
}
