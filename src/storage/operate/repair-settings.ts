/** The command that shows again what the settings of a stream hide. */
import { z } from "zod"
import { moveCommand } from "../../frame/operator/commands.ts"
import { renderFields } from "../../frame/operator/cli/render.ts"

/** What became of the settings of a stream. */
export interface SettingsRepair {
  /** Whether the stream shows its first event by now. */
  readonly ok: boolean
  readonly stream: string
  /** The settings that hide events, by name, each as it was written. */
  readonly hiding: Readonly<Record<string, string>>
  readonly isRemoved: boolean
  /** The first revision that the stream shows; null where it shows none. */
  readonly firstRevision: number | null
}

/** It needs no installation: where a stream that every start reads is hidden, none can be opened. */
export const repairSettings = moveCommand<SettingsRepair>({
  name: "store repair-settings",
  summary: "show again the events that a stream's settings hide in EventStoreDB",
  notes: [
    "Removes $maxCount, $maxAge and $tb from the stream's settings; other settings, such as $acl, stay.",
    "It works on the server of LEDGER_EVENTSTORE_URL, also next to a running ledger, which finds the stream whole " +
      "within ten seconds and takes commands on it again.",
    '"projections status" lists the streams that are held back: such a stream needs "store release" as well.',
    "Exit code 1 where the stream still does not begin with its first event: a scavenge has removed it, and " +
      "only a backup has it.",
  ],
  example: "store repair-settings prices",
  isBeside: true,
  input: z.object({
    stream: z.string().meta({ description: "the stream", argument: "STREAM", form: "text" }),
    show: z.boolean().default(false).meta({ description: "show the settings, and change nothing" }),
  }),
  render: ({ ok, stream, hiding, isRemoved, firstRevision }) => {
    const settings = Object.entries(hiding)
    const hides = settings.map(([name, value]) => `${name} ${value}`).join(", ")
    const rows = [
      ["stream", stream],
      ["hiddenBy", hides === "" ? "nothing" : hides],
      ["removed", isRemoved],
      ["firstRevision", firstRevision],
    ] as const
    return `${renderFields(rows)}${sayingOf({ ok, stream, isRemoved, hides })}\n`
  },
})

interface Found {
  readonly ok: boolean
  readonly stream: string
  readonly isRemoved: boolean
  readonly hides: string
}

function sayingOf(found: Found): string {
  if (found.ok) {
    const release = `Where "projections status" still lists it, give "store release ${found.stream}".`
    return `The stream begins with its first event. ${release}`
  }
  if (found.hides !== "" && !found.isRemoved)
    return "Give the command without --show to remove them."
  return "The first events are gone from the event store: restore them from a backup."
}
