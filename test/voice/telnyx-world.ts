/** An installation that Telnyx serves: a stand-in of it, and what it calls back as the tests let it. */
import { afterAll } from "vitest"
import { openTelnyxCalls, type TelnyxEvent } from "../support/telnyx-calls.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { ownVoiceWorld } from "./voice-world.ts"

/** Where Telnyx calls back. */
export const CALLED_BACK = "/carriers/telnyx/calls"

/** Opens one for the calling test file and closes it after the file. */
export async function openTelnyxWorld() {
  const account = signingAccount()
  /** What waits to be called back, in the order in which it happened. */
  const waiting: TelnyxEvent[] = []
  const standIn = await openTelnyxCalls(
    (event) => void waiting.push(event),
    () => world.ports.clock.now(),
  )
  afterAll(() => standIn.close())
  const world = await ownVoiceWorld({
    settings: {
      TELNYX_KEY: "KEY0123456789",
      TELNYX_PUBLIC_KEY: account.publicKey,
      TELNYX_URL: standIn.url,
      TELNYX_CONNECTION: "1684641123236054244",
    },
  })
  /** Calls one back, signed now; the status of the answer. */
  const send = async (
    { raw }: Pick<TelnyxEvent, "raw">,
    signed: Record<string, string> = account.headersOf(raw, world.ports.clock.now()),
  ) => {
    const sent = { method: "POST", url: CALLED_BACK, headers: signed, payload: raw } as const
    return (await world.app.inject(sent)).statusCode
  }
  /** Calls everything back and does what follows, until nothing more comes of it. */
  const goOn = async () => {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) {
        const status = await send(next)
        if (status !== 200) throw new Error(`${next.type} was answered ${status}`)
        continue
      }
      await world.operate("wait")
      if (waiting.length === 0) return
    }
  }
  return {
    world,
    standIn,
    account,
    waiting,
    send,
    goOn,
    /** The legs that ring at the stand-in for a caller, or did. */
    phones: () => standIn.legs.filter(({ direction }) => direction === "outgoing"),
  }
}
