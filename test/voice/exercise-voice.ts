/** Calls of a company for read models: one answered and recorded, one with a voicemail. */
import type { Company, World } from "../support/world.ts"
import { PHONES, runIncomingCall, configureNumber } from "./voice-world.ts"

/** Runs two incoming calls to a company. */
export async function exerciseVoice(world: World, company: Company): Promise<void> {
  const number = await configureNumber(world, company, {
    phones: PHONES.slice(0, 1),
    recordCalls: true,
  })
  await runIncomingCall(world, { number }, "answered", { seconds: "70", recorded: true })
  await runIncomingCall(world, { number }, "voicemail", { seconds: "20" })
}
