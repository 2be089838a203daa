/** Recordings for tests, stored as if they came from a carrier. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CallId, AudioKind } from "../../domain/kernel/calls.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { AudioSource, CarrierAudio } from "../../src/recordings/store-audio.ts"
import { storeAudio } from "../../src/recordings/store-audio.ts"
import type { ApiAnswer, Company, World } from "../support/world.ts"
import { offerCallCommand, ringingSettings } from "../voice/call-commands.ts"

/** The path of recordings. */
export const RECORDINGS_PATH = "/api/v1/phone/recordings"

/** A new call ID. */
export const newRecordedCallId = (): CallId => newId("call")

/** A carrier that has one recording, and records the calls to it. */
export function carrierWithRecording(
  bytes: Iterable<Uint8Array>,
): AudioSource & { calls: string[] } {
  const calls: string[] = []
  return {
    calls,
    downloadRecording: async (ref) => {
      calls.push(`download ${ref}`)
      return piecesOf(bytes)
    },
    deleteRecording: async (ref) => {
      calls.push(`delete ${ref}`)
    },
  }
}

async function* piecesOf(bytes: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* bytes
}

/** Audio at the carrier, of a call to the company that began now. */
export async function savedAudio(
  { ports }: Pick<World, "ports">,
  { companyId }: Pick<Company, "companyId">,
  changed: Partial<CarrierAudio> = {},
): Promise<CarrierAudio> {
  const { callId = newRecordedCallId() } = changed
  await offer(ports, companyId, callId)
  return {
    companyId,
    callId,
    kind: "call",
    seconds: 60,
    carrierRef: "rec_1",
    calledAt: ports.clock.now(),
    subject: COMPANY_SUBJECT,
    ...changed,
  }
}

/** Offers an incoming call that is rejected. A call that exists already stays unchanged. */
async function offer(ports: Ports, companyId: CompanyId, callId: CallId): Promise<void> {
  const callerTag = await ports.sealing.tag(companyId, CALLER_NUMBER)
  const numbers = {
    from: await ports.sealing.seal(companyId, callerTag, CALLER_NUMBER),
    to: await ports.sealing.seal(companyId, COMPANY_SUBJECT, CALLED_NUMBER),
  }
  const call = { callId, callerTag, ...numbers, startedAt: ports.clock.now() }
  const command = offerCallCommand(ringingSettings(0), { ...call, rejectReason: "closed" })
  await ports.runner.execute(callStreamOf(companyId, callId), command, causedBy("test call"))
}

export const CALLER_NUMBER = "+14155550123"
/** The company's number in these tests. */
export const CALLED_NUMBER = "+12015550100"

/** Stores a recording of a call, by default a tone. Returns the call's ID. */
export async function storeRecording(
  world: Pick<World, "ports">,
  company: Pick<Company, "companyId">,
  changed: Partial<CarrierAudio> = {},
  bytes?: Iterable<Uint8Array>,
): Promise<CallId> {
  const saved = await savedAudio(world, company, changed)
  const source = carrierWithRecording(bytes ?? generateToneMp3(saved.seconds))
  await storeAudio(world.ports, saved, source, causedBy("test recording"))
  return saved.callId
}

/** Requests a recording; the body is bytes. */
export async function fetchRecording(
  { app }: Pick<World, "app">,
  { key }: Pick<Company, "key">,
  callId: string,
  {
    kind,
    method = "GET",
    ...headers
  }: { readonly kind?: AudioKind; readonly method?: "GET" | "HEAD" } & Record<string, string> = {},
) {
  const url = `${RECORDINGS_PATH}/${callId}${kind === undefined ? "" : `?kind=${kind}`}`
  const answer = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  return { status: answer.statusCode, headers: answer.headers, bytes: answer.rawPayload }
}

/** The company's list of recordings, after all projections caught up. */
export async function listRecordingsOf(world: World, { key }: Pick<Company, "key">, query = "") {
  await world.operate("wait")
  const { status, body } = await world.call(key, "GET", `${RECORDINGS_PATH}${query}`)
  if (status !== 200) throw new Error(`the list was answered ${status}`)
  return body.recordings as readonly {
    readonly id: CallId
    readonly direction: string
    readonly from: string | null
    readonly to: string | null
    readonly createdAt: string
    readonly recording: { readonly seconds: number } | null
    readonly voicemail: { readonly seconds: number } | null
  }[]
}

/** Deletes recordings of a call. */
export function removeRecording(
  world: World,
  { key }: Pick<Company, "key">,
  callId: string,
  kind?: AudioKind | "both",
): Promise<ApiAnswer> {
  const query = kind === undefined ? "" : `?kind=${kind}`
  return world.call(key, "DELETE", `${RECORDINGS_PATH}/${callId}${query}`)
}

/** Uses every feature of recordings: stores them, deletes one, and sets the retention. */
export async function exerciseRecordings(
  world: World,
  company: Pick<Company, "companyId" | "key">,
): Promise<void> {
  const callId = await storeRecording(world, company)
  await storeRecording(world, company, { callId, kind: "voicemail", seconds: 7 })
  await removeRecording(world, company, await storeRecording(world, company))
  await world.call(company.key, "PUT", `${RECORDINGS_PATH}/keep`, { body: { days: 90 } })
  await world.operate("wait")
}
