/** What is said on calls: a number's own words, or the usual ones. */
import { USUAL_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import type { Said } from "../../domain/voice/directions.ts"
import type { CompanyId, Sealed } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

const GREETING = "Nobody can take your call right now. Please leave a message after the tone."
const NO_NUMBER = "a caller who shows no number"

/** A number as it is read out: digit by digit. */
const spoken = (number: string): string => [...number.replaceAll(/\D/g, "")].join(" ")

/** The words, opened; the usual ones where a number has none of its own, or they were erased. */
export async function wordsOf(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { offered: { settings, from } }: Live,
  says: Said,
): Promise<string> {
  const opened = async (sealed: Sealed | null, usual: string) =>
    (sealed === null ? null : await sealing.open(companyId, sealed)) ?? usual
  switch (says) {
    case "notice":
      return opened(settings.recordingNotice, USUAL_RECORDING_NOTICE)
    case "greeting":
      return opened(settings.voicemailGreeting, GREETING)
    case "screening": {
      const caller = await opened(from, "")
      const who = caller === "" ? NO_NUMBER : spoken(caller)
      return `You have a call from ${who}. Press 1 to take it.`
    }
  }
}
