import { Button, Group, Select, Stack, TextInput } from "@mantine/core"
import { useForm } from "@mantine/form"
import { useQuery } from "@tanstack/react-query"
import { responseData, useApi } from "../../api/api-client.ts"
import type { operations } from "../../api/document.d.ts"
import type { Schema } from "../../api/api-client.ts"
import { useMe } from "../../api/session.ts"
import { ApiCallButton } from "../../parts/api-call-button.tsx"
import { CopyCommandButton, curlOf } from "../../parts/copy-command.tsx"
import type { TableColumn } from "../../parts/data-table.tsx"
import { DataTable } from "../../parts/data-table.tsx"
import { EmptyState } from "../../parts/empty-state.tsx"
import { useFilters } from "../../parts/filters.ts"
import { QueryView } from "../../parts/query-view.tsx"
import { Money } from "../../parts/money.tsx"
import { Section } from "../../parts/page-layout.tsx"
import { phoneText } from "../../parts/phone-text.ts"
import { abilitiesText, localityText } from "./phone-state.ts"

type Offered = Schema<"OfferedNumber">
type State = Schema<"PhoneState"> | undefined

const KINDS = [
  { value: "local", label: "Local" },
  { value: "toll_free", label: "Toll-free" },
]

/** Searches for numbers to buy; the address has the search. */
export function BuyNumbers({ state }: { readonly state: State }) {
  const [filters] = useFilters()
  const { kind, areaCode, contains, region } = filters
  const query: Query =
    kind === "toll_free" ? { kind, contains } : { kind: "local", areaCode, region, contains }
  const isSearching = kind !== undefined
  const found = useOffers(query, isSearching)
  return (
    <Section
      title="Buy a number"
      description="At most ten searches per minute, including API calls."
      actions={
        isSearching ? (
          <CopyCommandButton what="curl" command={curlOf(searchPath(query))} />
        ) : undefined
      }
    >
      <Stack>
        <Search />
        {isSearching ? (
          <QueryView query={found}>
            {({ numbers }) => <Offers numbers={numbers} state={state} />}
          </QueryView>
        ) : null}
      </Stack>
    </Section>
  )
}

type Query = NonNullable<operations["searchNumbers"]["parameters"]["query"]>

function searchPath(query: Query): string {
  const given = Object.entries(query).filter((one): one is [string, string] => one[1] !== undefined)
  return `/api/v1/phone/search?${new URLSearchParams(given)}`
}

/** Searches only on request, not when other data changes, because searches are limited. */
function useOffers(query: Query, isEnabled: boolean) {
  const { companyId } = useMe()
  const api = useApi()
  return useQuery({
    queryKey: ["searchNumbers", companyId, query],
    queryFn: () => responseData(api.GET("/api/v1/phone/search", { params: { query } })),
    enabled: isEnabled,
    staleTime: Infinity,
    refetchOnWindowFocus: false,
  })
}

function Search() {
  const [{ kind, areaCode, contains, region }, setFilters] = useFilters()
  const form = useForm({
    initialValues: {
      kind: kind ?? "local",
      areaCode: areaCode ?? "",
      contains: contains ?? "",
      region: region ?? "",
    },
    validate: {
      areaCode: (text) =>
        /^([2-9]\d{2})?$/.test(text) ? null : "Must be three digits, such as 415",
      contains: (text) =>
        /^([\d*]{2,10})?$/.test(text) ? null : "Must be 2 to 10 digits, * for any",
      region: (text) => (/^([A-Za-z]{2})?$/.test(text) ? null : "Must be two letters, such as CA"),
    },
    validateInputOnChange: true,
  })
  const isLocal = form.values.kind === "local"
  return (
    <form
      onSubmit={form.onSubmit((wanted) =>
        setFilters(isLocal ? wanted : { ...wanted, areaCode: "", region: "" }),
      )}
      noValidate
      aria-label="Search for numbers"
    >
      <Group gap="xs" align="flex-start">
        <Select
          label="Kind"
          w={{ base: "47%", xs: 130 }}
          allowDeselect={false}
          data={KINDS}
          {...form.getInputProps("kind")}
        />
        <TextInput
          label="Area code"
          w={{ base: "47%", xs: 130 }}
          inputMode="numeric"
          disabled={!isLocal}
          {...form.getInputProps("areaCode")}
        />
        <TextInput
          label="State"
          w={{ base: "47%", xs: 130 }}
          disabled={!isLocal}
          {...form.getInputProps("region")}
        />
        <TextInput
          label="Contains"
          w={{ base: "47%", xs: 160 }}
          {...form.getInputProps("contains")}
        />
        <Button type="submit" variant="default" mt={{ base: 0, xs: 25 }}>
          Search
        </Button>
      </Group>
    </form>
  )
}

function Offers({
  numbers,
  state,
}: {
  readonly numbers: readonly Offered[]
  readonly state: State
}) {
  const priceOf = ({ kind }: Offered): number | null =>
    state === undefined
      ? null
      : kind === "toll_free"
        ? state.nextTollFreeMicros
        : state.nextNumberMicros
  const columns: readonly TableColumn<Offered>[] = [
    { title: "Number", cell: ({ number }) => phoneText(number) },
    { title: "Location", isHiddenOnNarrow: true, cell: localityText },
    { title: "Capabilities", isHiddenOnNarrow: true, cell: abilitiesText },
    { title: "Per month", isNumber: true, cell: (one) => <Money micros={priceOf(one)} /> },
    {
      title: "Buy",
      isNumber: true,
      cell: (one) => <Buy offer={one} price={priceOf(one)} />,
    },
  ]
  return (
    <DataTable
      label="Numbers for sale"
      columns={columns}
      rows={numbers}
      rowKey={({ number }) => number}
      empty={
        <EmptyState
          title="No matching numbers"
          description="Search for fewer digits, another area code or the whole state."
        />
      }
    />
  )
}

function Buy({ offer, price }: { readonly offer: Offered; readonly price: number | null }) {
  const { number, locality, region } = offer
  return (
    <ApiCallButton
      label="Buy"
      title={`Buy ${phoneText(number)}`}
      variant="subtle"
      description={
        <>
          The first month, <Money micros={price} />, is charged now, and each later month on that
          day until you release the number.
        </>
      }
      changeOf={() => ({
        method: "POST",
        path: "/api/v1/phone/buy",
        body: { number, locality, region },
      })}
      submitLabel="Buy the number"
      successMessage={`${phoneText(number)} is yours.`}
    />
  )
}
