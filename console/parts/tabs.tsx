import { Tabs as Mantine, Stack } from "@mantine/core"
import type { ReactNode } from "react"
import { useFilters } from "./filters.ts"

/** One of several views of a thing. */
export interface Tab {
  /** In the address. */
  readonly name: string
  readonly label: string
  readonly shows: () => ReactNode
}

/** Several views of one thing: the chosen one stands in the address, the first is there without. */
export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const [filters, setFilters] = useFilters()
  const [first] = tabs
  if (first === undefined) return null
  const chosen = tabs.find(({ name }) => name === filters["tab"]) ?? first
  return (
    <Mantine
      value={chosen.name}
      keepMounted={false}
      onChange={(name) =>
        // What one of them is narrowed to says nothing of another.
        setFilters({
          ...Object.fromEntries(Object.keys(filters).map((one) => [one, undefined])),
          tab: name === first.name || name === null ? undefined : name,
        })
      }
    >
      <Mantine.List aria-label={label} mb="md">
        {tabs.map(({ name, label: word }) => (
          <Mantine.Tab key={name} value={name}>
            {word}
          </Mantine.Tab>
        ))}
      </Mantine.List>
      {tabs.map(({ name, shows }) => (
        <Mantine.Panel key={name} value={name}>
          {name === chosen.name ? <Stack gap="xl">{shows()}</Stack> : null}
        </Mantine.Panel>
      ))}
    </Mantine>
  )
}
