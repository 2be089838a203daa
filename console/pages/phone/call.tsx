import { Button, Stack, Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useParams } from "@tanstack/react-router"
import { responseData, useApi, useApiQuery } from "../../api/api-client.ts"
import type { Schema } from "../../api/api-client.ts"
import { hasPermission, useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { useFilters } from "../../parts/filters.ts"
import { Id } from "../../parts/id.tsx"
import { TextLink } from "../../parts/link.tsx"
import { QueryView } from "../../parts/query-view.tsx"
import { Money } from "../../parts/money.tsx"
import { PageLayout, Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { AudioPlayer } from "../../parts/audio-player.tsx"
import { Time } from "../../parts/time.tsx"
import { CallOutcome, durationText } from "./call-outcome.tsx"

type Call = Schema<"Call">

/** So many pages of the list are gone through for a call. */
const MAX_PAGES = 20

/** One call: what came of it, what it cost, and its audio. */
export default function CallPage() {
  const { callId = "" } = useParams({ strict: false })
  const found = useCall(callId)
  return (
    <QueryView query={found}>
      {({ call }) =>
        call === null ? (
          <EmptyState title="There is no such call" description="It is not among the newest calls.">
            <TextLink to="phone" search={{ tab: "calls" }}>
              All calls
            </TextLink>
          </EmptyState>
        ) : (
          <CallContent call={call} />
        )
      }
    </QueryView>
  )
}

/** A call by its id: the list is gone through, from where the address says that it was listed. */
function useCall(callId: string) {
  const { companyId } = useMe()
  const api = useApi()
  const [{ from }] = useFilters()
  const find = async (): Promise<{ readonly call: Call | null }> => {
    let cursor = from
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = cursor === undefined ? {} : { cursor }
      // Each page says where the next one begins.
      // oxlint-disable-next-line no-await-in-loop
      const { calls, nextCursor } = await responseData(
        api.GET("/api/v1/phone/calls", { params: { query } }),
      )
      const call = calls.find(({ id }) => id === callId)
      if (call !== undefined) return { call }
      if (nextCursor === undefined) break
      cursor = nextCursor
    }
    return { call: null }
  }
  return useQuery({ queryKey: [companyId, "api", "call", callId, from ?? ""], queryFn: find })
}

function CallContent({ call }: { readonly call: Call }) {
  const { id, from, to, forwardedTo, seconds, chargedMicros, createdAt } = call
  return (
    <PageLayout
      title={from === null ? "A call without a number" : `Call from ${phoneText(from)}`}
      description={<Id id={id} />}
    >
      <DetailList
        items={[
          ["What came of it", <CallOutcome key="outcome" call={call} />],
          ["When", <Time key="when" at={createdAt} isWhole />],
          ["To", phoneText(to)],
          ["Taken by", phoneText(forwardedTo)],
          ["Lasted", durationText(seconds)],
          ["Cost", <Money key="cost" micros={chargedMicros} />],
          [
            "Charges",
            <TextLink key="charges" to="spending" search={{ item: "call_minute" }}>
              Minutes of calls
            </TextLink>,
          ],
          ...(from === null
            ? []
            : ([
                [
                  "Texts",
                  <TextLink key="texts" to={`phone/texts/${encodeURIComponent(from)}`}>
                    What was texted with them
                  </TextLink>,
                ],
              ] as const)),
        ]}
      />
      <Audio call={call} />
    </PageLayout>
  )
}

/** What of the call can be listened to. It is listed by the time of its call. */
function Audio({ call }: { readonly call: Call }) {
  const { id, createdAt, recorded, voicemailSeconds } = call
  const before = new Date(Date.parse(createdAt) + 1).toISOString()
  const found = useApiQuery(["listRecordings", before], (api) =>
    api.GET("/api/v1/phone/recordings", { params: { query: { before, limit: 1 } } }),
  )
  const hadAudio = recorded || voicemailSeconds !== null
  return (
    <Section title="Audio">
      <QueryView query={found} lines={2}>
        {({ recordings }) => {
          const held = recordings.find((one) => one.id === id)
          return held === undefined ? (
            <Text size="sm">
              {hadAudio
                ? "Its audio is on its way here, or was deleted."
                : "Nothing was recorded, and no message was left."}
            </Text>
          ) : (
            <HeldRecording held={held} />
          )
        }}
      </QueryView>
    </Section>
  )
}

function HeldRecording({
  held: { id, recording, voicemail },
}: {
  readonly held: Schema<"Recording">
}) {
  const me = useMe()
  const path = `/api/v1/phone/recordings/${id}`
  const addressOf = (kind: string) => `/console/${me.companyId}${path}?kind=${kind}`
  const kinds = [
    { kind: "call", title: "Recording", audio: recording },
    { kind: "voicemail", title: "Message", audio: voicemail },
  ].flatMap(({ audio, ...one }) => (audio === null ? [] : [{ ...one, ...audio }]))
  return (
    <Stack gap="lg">
      {kinds.map(({ kind, title, seconds }) => (
        <Stack key={kind} gap="xs" align="flex-start">
          <AudioPlayer
            title={title}
            address={addressOf(kind)}
            description={durationText(seconds)}
          />
          <Button.Group>
            <Button
              component="a"
              variant="default"
              size="xs"
              href={addressOf(kind)}
              download={`${id}-${kind}.mp3`}
            >
              Download
            </Button>
          </Button.Group>
          {hasPermission(me, "Manage phone") ? (
            <ApiCallButton
              label="Delete"
              title={`Delete: ${title.toLowerCase()}`}
              description="The audio is deleted for good. The call stays in the list."
              variant="subtle"
              isDangerous
              changeOf={() => ({ method: "DELETE", path: `${path}?kind=${kind}` })}
              successMessage="The audio was deleted."
            />
          ) : null}
        </Stack>
      ))}
    </Stack>
  )
}
