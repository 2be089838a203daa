import { Button, Group, Stack, TextInput } from "@mantine/core"
import { useState } from "react"
import type { PriceList } from "../../api/answers.ts"
import { useApiChange } from "../../api/api-change.ts"
import type { Schema } from "../../api/api-client.ts"
import { useOperationQuery } from "../../api/operations.ts"
import { CopyIconButton } from "../../parts/id.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { DetailList } from "../../parts/detail-list.tsx"
import { ErrorAlert } from "../../parts/error-alert.tsx"
import { Money } from "../../parts/money.tsx"
import { useAsyncAction } from "../../parts/use-async-action.ts"
import { Section } from "../../parts/page-layout.tsx"

type Suggestion = Schema<"Suggestion">
type Address = Schema<"Address">

const PATH = "/api/v1/places"

interface LookupResult {
  /** Token of a session: suggestions and one pick. */
  readonly sessionToken: string
  readonly suggestions: readonly Suggestion[]
  /** Undefined before a pick, null if the place does not exist. */
  readonly address?: Address | null
}

/** Suggests addresses for a text, and looks up the picked one. Each step is charged. */
export function AddressLookup() {
  const { suggest, pick, found, error, isBusy } = useLookUp()
  return (
    <Section title="Look up an address" description={<LookupPrices />}>
      <Stack>
        <form
          onSubmit={(event) => {
            event.preventDefault()
            const typed = new FormData(event.currentTarget).get("input")
            if (typeof typed === "string" && typed.trim() !== "") void suggest(typed)
          }}
        >
          <Group gap="xs" align="flex-end">
            <TextInput
              label="Part of the address"
              name="input"
              placeholder="12 map"
              maxLength={200}
              autoComplete="off"
              w={{ base: "100%", xs: 320 }}
            />
            <Button type="submit" variant="default" loading={isBusy}>
              Suggest
            </Button>
          </Group>
        </form>
        {error === null ? null : <ErrorAlert error={error} />}
        {found === null ? null : <Suggestions found={found} onPick={pick} />}
        {found?.address === undefined ? null : <PickedAddress address={found.address} />}
      </Stack>
    </Section>
  )
}

function useLookUp() {
  const change = useApiChange()
  const [found, setFound] = useState<LookupResult | null>(null)
  const { run, isBusy, error } = useAsyncAction(async (ask: () => Promise<LookupResult>) =>
    setFound(await ask()),
  )
  const post = <T,>(body: object) =>
    change<{ readonly result: T }>({ method: "POST", path: PATH, body })
  const suggest = (input: string) =>
    run(async () => {
      // A session ends with its pick, so the next suggestions start a new one.
      const isOver = found === null || found.address !== undefined
      const sessionToken = isOver ? crypto.randomUUID() : found.sessionToken
      const body = { action: "suggest", input, sessionToken }
      return { sessionToken, suggestions: (await post<readonly Suggestion[]>(body)).result }
    })
  const pick = (placeId: string) =>
    run(async () => {
      if (found === null) throw new Error("there are no suggestions to pick from")
      const { sessionToken, suggestions } = found
      const { result } = await post<Address | null>({ action: "details", placeId, sessionToken })
      return { sessionToken, suggestions, address: result }
    })
  return { suggest, pick, found, error, isBusy }
}

interface SuggestionsProps {
  readonly found: LookupResult
  readonly onPick: (placeId: string) => Promise<void>
}

function Suggestions({ found: { suggestions }, onPick }: SuggestionsProps) {
  const columns: readonly TableColumn<Suggestion>[] = [
    { title: "Address", cell: ({ main }) => main },
    { title: "Where", isHiddenOnNarrow: true, cell: ({ secondary }) => secondary },
    {
      title: "Pick",
      isNumber: true,
      cell: ({ placeId, main }) => (
        <Button
          variant="subtle"
          size="compact-sm"
          aria-label={`Look up ${main}`}
          onClick={() => void onPick(placeId)}
        >
          Look up
        </Button>
      ),
    },
  ]
  return (
    <DataTable
      label="Suggestions"
      columns={columns}
      rows={suggestions}
      rowKey={({ placeId }) => placeId}
      empty={
        <EmptyState
          title="No suggestions"
          description="Type more of the address, or try another spelling."
        />
      }
    />
  )
}

function PickedAddress({ address }: { readonly address: Address | null }) {
  if (address === null) {
    return (
      <EmptyState title="No such place" description="The provider no longer has this address." />
    )
  }
  const { formatted, line1, city, state, zip, country, lat, lng } = address
  return (
    <Section title={formatted} actions={<CopyIconButton text={formatted} what="the address" />}>
      <DetailList
        items={[
          ["Street", line1],
          ["Town", city],
          ["State", state],
          ["ZIP code", zip],
          ["Country", country],
          ["Coordinates", `${lat}, ${lng}`],
        ]}
      />
    </Section>
  )
}

function LookupPrices() {
  const prices = useOperationQuery<PriceList>("price-list").data?.prices ?? []
  const priceOf = (item: string) =>
    prices.find((price) => price.item === item)?.unitPriceMicros ?? null
  return (
    <>
      Suggestions cost <Money micros={priceOf("address_suggestion")} /> per request, and the address
      of one that is picked <Money micros={priceOf("address_details")} />.
    </>
  )
}
