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

/** Number of pages of the list that are searched for a call. */
const MAX_PAGES = 20

/** A call: outcome, cost and audio. */
export default function CallPage() {
  const { callId = "" } = useParams({ strict: false })
  const found = useCall(callId)
  return (
    <QueryView query={found}>
      {({ call }) =>
        call === null ? (
          <EmptyState title="No such call" description="It is not among the newest calls.">
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

/** Finds a call in the list, from the page in the address. */
function useCall(callId: string) {
  const { companyId } = useMe()
  const api = useApi()
  const [{ from }] = useFilters()
  const find = async (): Promise<{ readonly call: Call | null }> => {
    let cursor = from
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const query = cursor === undefined ? {} : { cursor }
      // Each page has the cursor of the next one.
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
      title={from === null ? "Call from an unknown number" : `Call from ${phoneText(from)}`}
      description={<Id id={id} />}
    >
      <DetailList
        items={[
          ["Outcome", <CallOutcome key="outcome" call={call} />],
          ["When", <Time key="when" at={createdAt} isWhole />],
          ["To", phoneText(to)],
          ["Answered by", phoneText(forwardedTo)],
          ["Duration", durationText(seconds)],
          ["Cost", <Money key="cost" micros={chargedMicros} />],
          [
            "Charges",
            <TextLink key="charges" to="spending" search={{ item: "call_minute" }}>
              Charges of calls
            </TextLink>,
          ],
          ...(from === null
            ? []
            : ([
                [
                  "Texts",
                  <TextLink key="texts" to={`phone/texts/${encodeURIComponent(from)}`}>
                    Texts with this number
                  </TextLink>,
                ],
              ] as const)),
        ]}
      />
      <Audio call={call} />
    </PageLayout>
  )
}

/** The audio of a call. Recordings are listed by the time of the call. */
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
          const stored = recordings.find((one) => one.id === id)
          return stored === undefined ? (
            <Text size="sm">
              {hadAudio
                ? "The audio is not here yet, or was deleted."
                : "No recording and no message."}
            </Text>
          ) : (
            <HeldRecording held={stored} />
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
