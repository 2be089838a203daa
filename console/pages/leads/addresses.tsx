import { Button, Group, Stack, TextInput } from "@mantine/core"
import { useState } from "react"
import type { PriceList } from "../../api/answers.ts"
import { useChange } from "../../api/change.ts"
import type { Schema } from "../../api/company.ts"
import { useAnswer } from "../../api/operations.ts"
import { CopyIt } from "../../parts/id.tsx"
import type { Column } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { Empty } from "../../parts/empty.tsx"
import { Facts } from "../../parts/facts.tsx"
import { Fault } from "../../parts/fault.tsx"
import { Money } from "../../parts/money.tsx"
import { useAct } from "../../parts/use-act.ts"
import { Section } from "../../parts/page.tsx"

type Suggestion = Schema<"Suggestion">
type Address = Schema<"Address">

const PATH = "/api/v1/places"

interface Found {
  /** One pick with the suggestions that lead to it. */
  readonly sessionToken: string
  readonly suggestions: readonly Suggestion[]
  /** Undefined before one was picked, null where there is no such place. */
  readonly address?: Address | null
}

/** Suggestions for what was typed, and the address of the one that is picked. Each is charged. */
export function Addresses() {
  const { suggest, pick, found, error, isBusy } = useLookUp()
  return (
    <Section title="Look up an address" says={<WhatItCosts />}>
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
              label="What is known of it"
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
        {error === null ? null : <Fault error={error} />}
        {found === null ? null : <Suggestions found={found} onPick={pick} />}
        {found?.address === undefined ? null : <Picked address={found.address} />}
      </Stack>
    </Section>
  )
}

function useLookUp() {
  const change = useChange()
  const [found, setFound] = useState<Found | null>(null)
  const { act, isBusy, error } = useAct(async (ask: () => Promise<Found>) => setFound(await ask()))
  const post = <T,>(body: object) =>
    change<{ readonly result: T }>({ method: "POST", path: PATH, body })
  const suggest = (input: string) =>
    act(async () => {
      // A session is over with its pick: the next suggestions are of a new one.
      const isOver = found === null || found.address !== undefined
      const sessionToken = isOver ? crypto.randomUUID() : found.sessionToken
      const body = { action: "suggest", input, sessionToken }
      return { sessionToken, suggestions: (await post<readonly Suggestion[]>(body)).result }
    })
  const pick = (placeId: string) =>
    act(async () => {
      if (found === null) throw new Error("there is nothing to pick from")
      const { sessionToken, suggestions } = found
      const { result } = await post<Address | null>({ action: "details", placeId, sessionToken })
      return { sessionToken, suggestions, address: result }
    })
  return { suggest, pick, found, error, isBusy }
}

interface SuggestionsProps {
  readonly found: Found
  readonly onPick: (placeId: string) => Promise<void>
}

function Suggestions({ found: { suggestions }, onPick }: SuggestionsProps) {
  const columns: readonly Column<Suggestion>[] = [
    { title: "Address", cell: ({ main }) => main },
    { title: "Where", isWide: true, cell: ({ secondary }) => secondary },
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
      {...{ label: "Suggestions", columns, rows: suggestions }}
      rowKey={({ placeId }) => placeId}
      empty={<Empty title="Nothing is suggested" says="Type more of it, or write it otherwise." />}
    />
  )
}

function Picked({ address }: { readonly address: Address | null }) {
  if (address === null) {
    return <Empty title="There is no such place" says="The provider knows it no more." />
  }
  const { formatted, line1, city, state, zip, country, lat, lng } = address
  return (
    <Section title={formatted} actions={<CopyIt text={formatted} what="the address" />}>
      <Facts
        of={[
          ["Street", line1],
          ["Town", city],
          ["State", state],
          ["ZIP code", zip],
          ["Country", country],
          ["Place", `${lat}, ${lng}`],
        ]}
      />
    </Section>
  )
}

function WhatItCosts() {
  const prices = useAnswer<PriceList>("price-list").data?.prices ?? []
  const priceOf = (item: string) =>
    prices.find((price) => price.item === item)?.unitPriceMicros ?? null
  return (
    <>
      Suggestions cost <Money micros={priceOf("address_suggestion")} /> each time, and the address
      of one that is picked <Money micros={priceOf("address_details")} />.
    </>
  )
}
