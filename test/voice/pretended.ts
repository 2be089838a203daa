/** Calls of a company for read models: one answered and recorded, one that left a voicemail. */
import type { Company, World } from "../support/world.ts"
import { PHONES, playCall, setUp } from "./voice-world.ts"

/** Has a company be called. */
export async function useVoice(world: World, company: Company): Promise<void> {
  const to = await setUp(world, company, { phones: PHONES.slice(0, 1), recordCalls: true })
  await playCall(world, { to }, "answered", { seconds: "70", recorded: true })
  await playCall(world, { to }, "voicemail", { seconds: "20" })
}
