/** Audio of calls in a test: kept as from a carrier, without one. */
import type { CallId } from "../../domain/recordings/ids.ts"
import type { AudioKind } from "../../domain/recordings/recording-events.ts"
import { toneMp3 } from "../../adapters/providers/voice/tone.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { AudioSource, SavedAudio } from "../../src/recordings/keep-audio.ts"
import { keepAudio } from "../../src/recordings/keep-audio.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"

/** Where recordings are listed. */
export const RECORDINGS = "/api/v1/phone/recordings"

/** The name of a call that is nobody else's. */
export const newCall = (): CallId => newId("call")

/** A carrier that has one recording, and remembers what was asked of it. */
export function carrierWith(bytes: Iterable<Uint8Array>): AudioSource & { asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    audio: async (ref) => {
      asked.push(`audio ${ref}`)
      return piecesOf(bytes)
    },
    forgetAudio: async (ref) => {
      asked.push(`forget ${ref}`)
    },
  }
}

async function* piecesOf(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes
}

/** Audio of a call that began now. */
export function savedAudio(
  { clock }: Pick<Ports, "clock">,
  { companyId }: Pick<Company, "companyId">,
  changed: Partial<SavedAudio> = {},
): SavedAudio {
  return {
    ...{ companyId, callId: newCall(), kind: "call", seconds: 60, audioRef: "rec_1" },
    ...{ calledAt: clock.now(), subject: COMPANY_SUBJECT, ...changed },
  }
}

/** Keeps audio of a call; a tone where no bytes are given. Answers which call that is. */
export async function record(
  { ports }: Pick<World, "ports">,
  company: Pick<Company, "companyId">,
  changed: Partial<SavedAudio> = {},
  bytes?: Iterable<Uint8Array>,
): Promise<CallId> {
  const saved = savedAudio(ports, company, changed)
  const source = carrierWith(bytes ?? toneMp3(saved.seconds))
  await keepAudio(ports, saved, source, causedBy("test recording"))
  return saved.callId
}

/** Listens to a recording; the body is bytes. */
export async function listen(
  { app }: Pick<World, "app">,
  { key }: Pick<Company, "key">,
  callId: string,
  {
    kind,
    method = "GET",
    ...headers
  }: { readonly kind?: AudioKind; readonly method?: "GET" | "HEAD" } & Record<string, string> = {},
) {
  const url = `${RECORDINGS}/${callId}${kind === undefined ? "" : `?kind=${kind}`}`
  const answer = await app.inject({
    ...{ method, url },
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  return { status: answer.statusCode, headers: answer.headers, bytes: answer.rawPayload }
}

/** What a company's list shows once everything is shown. */
export async function listed(world: World, { key }: Pick<Company, "key">, query = "") {
  await world.operate("wait")
  const { status, body } = await world.call(key, "GET", `${RECORDINGS}${query}`)
  if (status !== 200) throw new Error(`the list was answered ${status}`)
  return body.recordings as readonly {
    readonly id: CallId
    readonly createdAt: string
    readonly recording: { readonly seconds: number } | null
    readonly voicemail: { readonly seconds: number } | null
  }[]
}

/** Deletes recordings of a call. */
export function remove(
  world: World,
  { key }: Pick<Company, "key">,
  callId: string,
  kind?: AudioKind | "both",
): Promise<ApiAnswer> {
  const query = kind === undefined ? "" : `?kind=${kind}`
  return world.call(key, "DELETE", `${RECORDINGS}/${callId}${query}`)
}

/** Does all that there is to do with recordings: one is kept, one of another call is deleted. */
export async function useRecordings(
  world: World,
  company: Pick<Company, "companyId" | "key">,
): Promise<void> {
  const callId = await record(world, company)
  await record(world, company, { callId, kind: "voicemail", seconds: 7 })
  await remove(world, company, await record(world, company))
  await world.call(company.key, "PUT", `${RECORDINGS}/keep`, { body: { days: 90 } })
  await world.operate("wait")
}
