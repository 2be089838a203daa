/** The settings of a stream that hide events of it, as the server names them. */
export interface Settings {
  readonly $maxCount?: number
  /** Seconds. */
  readonly $maxAge?: number
  /** The first revision that is shown. */
  readonly $tb?: number
}

/** The first revision that is shown of a stream that was deleted, but not for good. */
const SOFTLY_DELETED_TEXT = "9223372036854775807"
/** The same as a number, as near as one comes to it. */
export const SOFTLY_DELETED = Number(SOFTLY_DELETED_TEXT)

/** How settings are stored. */
interface SettingsEvent {
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
}

/** What is written of settings, to the stream of them. */
export function settingsEvent(settings: Settings): SettingsEvent {
  const text = JSON.stringify(settings).replace(String(SOFTLY_DELETED), SOFTLY_DELETED_TEXT)
  const type = "$metadata"
  return { type, contentType: "application/json", data: Buffer.from(text), metadata: Buffer.of() }
}

/** The settings that an event of their stream says; none without one. */
export function settingsIn(event: Pick<SettingsEvent, "data"> | undefined): Settings {
  if (event === undefined) return {}
  return JSON.parse(Buffer.from(event.data).toString()) as Settings
}
